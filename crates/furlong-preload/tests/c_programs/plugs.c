/* Opens a plugin that no other library sees, and calls it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
	void *plugin = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*call)(void) = plugin ? (int (*)(void))dlsym(plugin, "out_of_memory") : NULL;

	if (!call) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return call();
}
