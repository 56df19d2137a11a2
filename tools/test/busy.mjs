// Keeps a processor busy for as long as the process that started it lives.
const parent = Number(process.argv[2])
const stretch = 1e7
while (process.ppid === parent) for (let n = 0; n < stretch; n++);
