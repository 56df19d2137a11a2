/** What can be switched off and on again: two actions of every such entity. */
import type { Runner } from '../storage/pool.ts'
import { action, type AnyAction, type Given, type Inputs } from './action.ts'
import { change } from './change.ts'
import type { Office } from './office.ts'

interface Switches<T extends Inputs> {
  /** The group, such as `merchant`; the audit trail has it and the id. */
  words: string
  takes: T
  /** What an example names. */
  example: string
  disable: string
  enable: string
  /** Finds it, by its id, its members of a JSON and its name for a person, and switches it. */
  of: (runner: Runner, asked: Given<T>) => Promise<Switched>
}

interface Switched {
  id: bigint | string
  ids: object
  name: string
  set: (enabled: boolean) => Promise<void>
}

const verbs = [
  ['disable', false],
  ['enable', true],
] as const

export const switchesOf = <const T extends Inputs>({ words, takes, example, of, ...does }: Switches<T>) =>
  Object.fromEntries(
    verbs.map(([verb, enabled]): [string, AnyAction] => [
      `${words} ${verb}`,
      action({
        does: does[verb],
        needs: 'configure',
        takes,
        perform: (office: Office, asked: Given<T>) =>
          change(office, 'config', async (runner) => {
            const found = await of(runner, asked)
            await found.set(enabled)
            return { note: { subject: `${words} ${found.id}` }, result: found }
          }),
        gives: {
          json: ({ ids }) => ({ ...ids, enabled }),
          blocks: ({ name }) => [`${name} is ${enabled ? 'on' : 'off'}: ${does[verb]}.`],
        },
        examples: [`${words} ${verb} ${example}`],
      }),
    ]),
  )
