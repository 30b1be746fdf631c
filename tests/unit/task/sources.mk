# task: unit tests of this folder
