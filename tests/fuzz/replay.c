/* Stands in for libFuzzer: runs the target once on each file named. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/file.h"
#include "tests/fuzz/fuzz.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		cs_auto(buf) input = CS_BUF_INIT(16 << 20);
		int r = cs_file_read(AT_FDCWD, argv[i], &input);

		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return EXIT_FAILURE;
		}
		LLVMFuzzerTestOneInput((const uint8_t *)(input.data ? input.data : ""), input.len);
	}
	printf("%d inputs\n", argc - 1);
	return EXIT_SUCCESS;
}
