# engine: unit tests of this folder
