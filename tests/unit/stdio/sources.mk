# stdio: unit tests of this folder
