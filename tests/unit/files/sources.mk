# files: unit tests of this folder
