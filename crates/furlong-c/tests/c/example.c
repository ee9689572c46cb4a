/* The example of the header: visits the areas of a program, and finds room for one more. */

#include <furlong.h>
#include <inttypes.h>
#include <stdio.h>

int main(void)
{
	struct furlong_maple *areas;
	struct furlong_maple_cursor cursor = {0, 0, 0, 0};
	struct furlong_maple_entry area;
	struct furlong_extent gap;
	char code[] = "code", stack[] = "stack";

	if (furlong_maple_create(&areas) != 0)
		return 1;
	furlong_maple_insert(areas, 0x1000, 0x3fff, code, NULL);
	furlong_maple_insert(areas, 0x8000, 0x8fff, stack, NULL);
	while (furlong_maple_next(areas, &cursor, &area) == 0)
		printf("%#" PRIx64 "-%#" PRIx64 " %s\n", area.start, area.last,
		       (const char *)area.entry);
	if (furlong_maple_highest_gap(areas, 0x2000, 0, 0xffff, &gap) == 0)
		printf("room at %#" PRIx64 "\n", gap.start);
	furlong_maple_destroy(areas);
	return 0;
}
