/** What the verbs of merchants, endpoints, groups and gates have in common. */
import type { Command } from 'commander'
import { onOff } from '../../entity/facts.ts'
import type { Terminal } from '../terminal.ts'
import { atOffice, type Office } from './installation.ts'
import { jsonOption } from './options.ts'
import { statusColour } from './present.ts'

export interface ForJson {
  json?: true
}

/** A verb with `--json` and examples. */
export const verb = (parent: Command, name: string, description: string, ...examples: string[]): Command =>
  parent
    .command(name)
    .description(description)
    .option(...jsonOption)
    .addHelpText('after', `\nExamples\n${examples.map((example) => `  npx tollgate ${example}`).join('\n')}`)

interface Switches<Key> {
  /** The argument, such as `<login>`, and how it is read. */
  of: string
  means?: string
  read?: (text: string) => Key
  /** What an example names. */
  example: string
  disable: string
  enable: string
  /** The sentence ends with the description of the verb. */
  saysEffect?: true
  /** Does it; returns what names the entity in JSON, and how a sentence names it. */
  set: (office: Office, key: Key, enabled: boolean) => Promise<{ ids: object; name: string }>
}

/** `disable` and `enable`. */
export function addSwitches<Key>(parent: Command, terminal: Terminal, s: Switches<Key>): void {
  for (const [name, enabled] of Object.entries({ disable: false, enable: true }) as ['disable' | 'enable', boolean][])
    verb(parent, name, s[name], `${parent.name()} ${name} ${s.example}`)
      .argument(s.of, s.means ?? '', s.read as (text: string) => Key)
      .action((key: Key, options: ForJson) =>
        atOffice(terminal, async (office) => {
          const { ids, name: called } = await s.set(office, key, enabled)
          if (options.json) terminal.printJson({ ...ids, enabled })
          else terminal.print(`${called} is ${onOff(enabled)}${s.saysEffect ? `: ${s[name]}` : ''}.`)
        }),
      )
}

/** The column of an entity that can be switched off. */
export const stateColumn = {
  title: 'STATE',
  of: (one: { enabled: boolean }) => onOff(one.enabled),
  colour: (one: { enabled: boolean }) => statusColour(onOff(one.enabled)),
}
