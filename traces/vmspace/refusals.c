/* Asks an address space for what it has to refuse, and for a little that it must not. What it is
 * answered it does not look at: the recording has it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, RW = PROT_READ | PROT_WRITE, MEMORY = MAP_PRIVATE | MAP_ANONYMOUS };

static char *at(uintptr_t address) { return (char *)address; }

static char *map(char *where, size_t pages, int flags)
{
	return mmap(where, pages * PAGE, RW, MEMORY | flags, -1, 0);
}

static char *find(const char *name)
{
	char line[512];
	uintptr_t start = 0, found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-", &start) == 1 && strstr(line, name))
			found = start;
	if (maps)
		fclose(maps);
	return at(found);
}

static void maps(char *base)
{
	map(NULL, 0, 0);                                     /* EINVAL */
	mmap(NULL, SIZE_MAX - PAGE, RW, MEMORY, -1, 0);      /* ENOMEM */
	mmap(NULL, 1ul << 47, RW, MEMORY | MAP_NORESERVE, -1, 0);
	mmap(NULL, PAGE, RW, MAP_ANONYMOUS, -1, 0);          /* EINVAL: neither shared nor private */
	map(base + 1, 1, MAP_FIXED);                         /* EINVAL */
	map(base, 2, MAP_FIXED_NOREPLACE);                   /* EEXIST */
	map(base + 15 * PAGE, 2, MAP_FIXED_NOREPLACE);       /* EEXIST */
	map(at(0x7ffffffff000), 1, MAP_FIXED);               /* ENOMEM */
	map(at(0x7fffffffe000), 2, MAP_FIXED);
	map(at(-PAGE), 1, MAP_FIXED);
	mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0); /* EINVAL */
	mmap(NULL, PAGE, RW, MAP_PRIVATE, 77, 0);            /* EBADF */
	mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 0, 1);      /* EINVAL: offset */
	int file = open("/proc/self/exe", O_RDONLY);
	int folder = open("/", O_RDONLY);
	mmap(NULL, PAGE, RW, MAP_SHARED, file, 0);           /* EACCES */
	mmap(base, PAGE, RW, MAP_SHARED | MAP_FIXED, file, 0);
	mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, folder, 0); /* ENODEV */
	mmap(NULL, 0, RW, MAP_SHARED, file, 0);              /* EINVAL before EACCES */
	char *text = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	mprotect(text + PAGE, PAGE, RW);
	text[PAGE] = 1;
	close(file);
	close(folder);
}

static void hints(char *base)
{
	char *free = base + (1ul << 32);
	map(free, 4, 0)[0] = 1;      /* there */
	map(free + PAGE, 4, 0);      /* taken: elsewhere */
	map(free + 4 * PAGE + 9, 1, 0); /* rounded */
	map(at(0x7fffffffe000), 4, 0);  /* beyond: elsewhere */
	map(at(1), 1, 0);            /* too low: lifted */
	munmap(free, 16 * PAGE);
	map(NULL, 3, MAP_32BIT);
	map(NULL, 512, 0);           /* whole huge pages */
}

static void unmaps(char *base)
{
	munmap(base + 1, PAGE);                    /* EINVAL */
	munmap(base, 0);                           /* EINVAL */
	munmap(at(0x7ffffffff000), PAGE);          /* EINVAL */
	munmap(base, SIZE_MAX);                    /* EINVAL */
	munmap(base + 4 * PAGE, 2 * PAGE);         /* a hole */
	munmap(base + 4 * PAGE, 2 * PAGE);         /* nothing is there */
	munmap(base + 3 * PAGE, PAGE + 1);         /* ragged length */
	map(base + 3 * PAGE, 3, MAP_FIXED);
}

static void protects(char *base)
{
	mprotect(base + 1, PAGE, PROT_READ);               /* EINVAL */
	mprotect(base, 0, PROT_READ);
	mprotect(base, PAGE, 0x40);                        /* EINVAL */
	mprotect(base, PAGE, PROT_GROWSDOWN | PROT_READ);  /* EINVAL */
	mprotect(base, PAGE, PROT_GROWSDOWN | PROT_GROWSUP);
	mprotect(base, SIZE_MAX - PAGE + 1, PROT_READ);    /* ENOMEM */
	mprotect(find("[vvar]"), PAGE, RW);                /* EACCES */
	mprotect(base, 8 * PAGE, PROT_READ);
	munmap(base + 6 * PAGE, PAGE);
	mprotect(base + 4 * PAGE, 4 * PAGE, RW);           /* ENOMEM, and two pages can be written */
	base[4 * PAGE] = base[5 * PAGE] = 1;
	mprotect(base + 6 * PAGE, 2 * PAGE, RW);           /* ENOMEM, and nothing has changed */
	map(base + 6 * PAGE, 1, MAP_FIXED)[0] = 1;
	mprotect(base, 8 * PAGE, RW);
	base[0] = base[7 * PAGE] = 1;
}

static void moves(char *base)
{
	char *block = map(NULL, 8, 0), *wall = map(block + 8 * PAGE, 1, MAP_FIXED);
	mprotect(wall, PAGE, PROT_READ);
	block[0] = 1;
	mremap(block, 8 * PAGE, 0, 0);                                  /* EINVAL */
	mremap(block + 1, PAGE, PAGE, 0);                               /* EINVAL */
	mremap(block, 8 * PAGE, 8 * PAGE, 64);                          /* EINVAL */
	mremap(block, PAGE, PAGE, MREMAP_FIXED, base);                  /* EINVAL */
	mremap(block, 8 * PAGE, 16 * PAGE, 0);                          /* ENOMEM: no room */
	mremap(at(0x5000000), PAGE, 2 * PAGE, MREMAP_MAYMOVE);          /* EFAULT */
	mremap(block, 9 * PAGE, 12 * PAGE, MREMAP_MAYMOVE);             /* EFAULT: two areas */
	mremap(block, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, block + PAGE); /* EINVAL */
	mremap(block, 8 * PAGE, 6 * PAGE, 0);                           /* shorter */
	mremap(block, 6 * PAGE, 8 * PAGE, 0);                           /* into the room */
	block = mremap(block, 8 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);     /* elsewhere */
	block[63 * PAGE] = 1;
	mremap(block, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, base);
	base[PAGE] = 1;
	munmap(block, 64 * PAGE);
}

static void breaks(void)
{
	char *end = at(syscall(SYS_brk, 0));
	syscall(SYS_brk, end + 5 * PAGE + 7);
	end[4 * PAGE] = 1;
	syscall(SYS_brk, 1);                     /* below: stays */
	syscall(SYS_brk, 0x7ffffffff000);        /* beyond: stays */
	map(end + 8 * PAGE, 1, MAP_FIXED);
	syscall(SYS_brk, end + 9 * PAGE);        /* taken: stays */
	syscall(SYS_brk, end + 7 * PAGE);        /* as far as there is room */
	syscall(SYS_brk, end + PAGE);
	munmap(end + 8 * PAGE, PAGE);
	syscall(SYS_brk, end);
}

static void stacks(void)
{
	char *room = map(NULL, 1024, 0), *stack = room + 1000 * PAGE;
	munmap(room, 1024 * PAGE);
	map(stack, 4, MAP_FIXED | MAP_GROWSDOWN)[0] = 1;
	stack[-1] = stack[-20 * PAGE] = 1;       /* grows */
	mprotect(stack, PAGE, PROT_READ | PROT_GROWSDOWN);
	munmap(stack - 20 * PAGE, 24 * PAGE);
}

int main(void)
{
	char *base = map(NULL, 16, 0);
	base[0] = 1;
	maps(base);
	hints(base);
	unmaps(base);
	protects(base);
	moves(base);
	breaks();
	stacks();
	pid_t child = fork();
	if (child == 0) {
		base[0] = 2;
		unmaps(base);
		protects(base);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	base[0] = 3;
	return 0;
}
