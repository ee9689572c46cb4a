/* Must fail under AddressSanitizer: a map is never destroyed, and its pointer is lost. */

#include "check.h"

static void lose_a_map(void)
{
	struct furlong_maple *map;

	FINE(furlong_maple_create(&map));
	FINE(furlong_maple_insert(map, 0, 1, &checked, NULL));
}

int main(void)
{
	char wiped[4096];

	lose_a_map();
	memset(wiped, (int)checked, sizeof wiped);
	return wiped[17] == 99;
}
