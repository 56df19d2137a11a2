// `npm start`: installs and builds what is missing, then runs the sandbox in this terminal.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { build, root } from './build.mjs'

build()
const sandbox = spawn(process.execPath, [join(root, 'dist', 'src', 'cli', 'main.js'), 'sandbox', ...process.argv.slice(2)], {
  stdio: 'inherit',
})
// The terminal sends Ctrl-C to the whole group. The sandbox ends itself in order; this waits for
// it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => signal !== 'SIGINT' && sandbox.kill(signal))
sandbox.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
