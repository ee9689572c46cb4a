/* Must fail: a check that is false. */

#include "check.h"

int main(void)
{
	struct furlong_maple *map;

	FINE(furlong_maple_create(&map));
	EQUAL(furlong_maple_insert(map, 0, 1, NULL, NULL), 0);
	return done("planted");
}
