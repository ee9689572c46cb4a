/* The functions that a kernel provides; here by the C library. */

#define _POSIX_C_SOURCE 200809L

#include <furlong.h>
#include <stdio.h>
#include <stdlib.h>

void *furlong_port_allocate(size_t size, size_t align)
{
	void *memory = NULL;

	if (align < sizeof(void *))
		align = sizeof(void *);
	return posix_memalign(&memory, align, size) == 0 ? memory : NULL;
}

void furlong_port_free(void *memory, size_t size, size_t align)
{
	(void)size;
	(void)align;
	free(memory);
}

void furlong_port_panic(const uint8_t *message, size_t len)
{
	fwrite(message, 1, len, stderr);
	abort();
}
