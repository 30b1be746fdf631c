/* What libFuzzer calls; a non-zero return keeps the input out of the corpus. */
#ifndef CS_TESTS_FUZZ_H
#define CS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
