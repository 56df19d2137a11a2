/** The actions that may be asked for from elsewhere, by API or page, each at a path of its own. */
import type { AnyAction, Inputs } from './action.ts'
import { changes } from './permissions.ts'
import { actionsOf, subjects } from './subjects.ts'

/** An action with its words and its path, such as `merchant/key-add`. */
export interface Offer {
  words: string
  path: string
  action: AnyAction
  /** It changes nothing, and nothing that it takes tells of a person: GET will do. */
  byGet: boolean
}

/** `merchant key add` is merchant/key-add. */
const pathOf = (words: string): string => words.replace(' ', '/').replaceAll(' ', '-')

/** Files, secrets and texts may tell of a person or a card; the login of a merchant does not. */
export const tells = ({ is, names }: Inputs[string]): boolean =>
  Boolean(is.mayTell || is.orInput || is.fromBytes) && names !== 'merchant'

/** Actions that concern this machine have none. In the order of the subjects. */
export async function offers(): Promise<Offer[]> {
  const all: Offer[] = []
  for (const first of Object.keys(subjects))
    for (const [words, action] of await actionsOf(first))
      if (!action.here)
        all.push({
          words,
          path: pathOf(words),
          action,
          byGet: !changes(action) && !action.gives.parts && !Object.values(action.takes).some(tells),
        })
  return all
}
