"""A list that grows moves its block again and again; a mapping is resized."""
import mmap

items = []
for number in range(400_000):
    items.append(number)
del items[:300_000]
items = [str(number) for number in items]
block = mmap.mmap(-1, 1 << 16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for size in (1 << 20, 1 << 22, 1 << 17, 1 << 21):
    block.resize(size)
    block[size - 1] = 1
block.close()
text = bytearray()
for _ in range(64):
    text += b"x" * (1 << 16)
