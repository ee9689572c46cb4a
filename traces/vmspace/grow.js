// A heap that grows and shrinks, and buffers that grow within what they have reserved.
const blocks = [];
for (let n = 0; n < 40; n++) blocks.push(new Array(1 << 15).fill(n));
blocks.length = 0;
const memory = new WebAssembly.Memory({ initial: 1, maximum: 64 });
memory.grow(40);
const buffer = new ArrayBuffer(1 << 12, { maxByteLength: 1 << 24 });
buffer.resize(1 << 22);
new Uint8Array(buffer).fill(1);
buffer.resize(1 << 14);
