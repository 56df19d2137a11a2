import { parseArgs } from 'node:util'

/**
 * The options of a tool. Asked for help it prints that and ends with 0; what it does not know ends
 * it with 2.
 */
export function readArguments(help, options = {}, positionals = false) {
  try {
    const known = { ...options, help: { type: 'boolean', short: 'h', default: false } }
    const read = parseArgs({ options: known, allowPositionals: positionals })
    if (!read.values.help) return read
  } catch (thrown) {
    console.error(`${thrown.message}\n\n${help}`)
    process.exit(2)
  }
  console.log(help)
  process.exit(0)
}
