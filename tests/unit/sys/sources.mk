# sys: unit tests of this folder
