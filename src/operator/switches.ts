/** What can be switched off and on again: two actions of every such entity. */
import { action, type AnyAction, type Given, type Inputs } from './action.ts'
import type { Office } from './office.ts'

interface Switches<T extends Inputs> {
  /** The group, such as `merchant`. */
  words: string
  takes: T
  /** What an example names. */
  example: string
  disable: string
  enable: string
  /** Does it; returns what names the entity for a machine, and for a person. */
  set: (office: Office, asked: Given<T>, enabled: boolean) => Promise<{ ids: object; name: string }>
}

export const switchesOf = <const T extends Inputs>({
  words,
  takes,
  example,
  set,
  ...does
}: Switches<T>): Record<string, AnyAction> =>
  Object.fromEntries(
    (
      [
        ['disable', false],
        ['enable', true],
      ] as const
    ).map(([verb, enabled]) => [
      `${words} ${verb}`,
      action({
        does: does[verb],
        needs: 'configure',
        takes,
        perform: (office: Office, asked: Given<T>) => set(office, asked, enabled),
        gives: {
          json: ({ ids }) => ({ ...ids, enabled }),
          blocks: ({ name }) => [`${name} is ${enabled ? 'on' : 'off'}: ${does[verb]}.`],
        },
        examples: [`${words} ${verb} ${example}`],
      }),
    ]),
  )
