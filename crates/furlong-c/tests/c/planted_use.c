/* Must fail under AddressSanitizer: a map is used after it has been destroyed. */

#include "check.h"

int main(void)
{
	struct furlong_maple *map;

	FINE(furlong_maple_create(&map));
	furlong_maple_destroy(map);
	EQUAL(furlong_maple_len(map), 0);
	return done("planted");
}
