/** Which paths there are: one for each action that may be asked for from elsewhere. */
import type { AnyAction, Inputs } from '../operator/action.ts'
import { permissions } from '../operator/permissions.ts'
import { actionsOf, subjects } from '../operator/subjects.ts'

/** An action with its words and its path below /operator/v1/. */
export interface ApiRoute {
  words: string
  path: string
  action: AnyAction
  /** It changes nothing, and nothing that it takes tells of a person: GET will do. */
  byGet: boolean
}

export const basePath = '/operator/v1'

/** `merchant key add` is merchant/key-add. */
const pathOf = (words: string): string => words.replace(' ', '/').replaceAll(' ', '-')

export const changes = ({ needs, reads }: Pick<AnyAction, 'needs' | 'reads'>): boolean => !reads && permissions[needs].changes

/** Files, secrets and texts may tell of a person or a card; the login of a merchant does not. */
const mayTell = (takes: Inputs): boolean =>
  Object.values(takes).some(({ is, names }) => (is.mayTell || is.orInput || is.fromBytes) && names !== 'merchant')

/** Actions that concern this machine have none. In the order of the subjects. */
export async function apiRoutes(): Promise<ApiRoute[]> {
  const routes: ApiRoute[] = []
  for (const first of Object.keys(subjects))
    for (const [words, action] of await actionsOf(first))
      if (!action.here)
        routes.push({
          words,
          path: pathOf(words),
          action,
          byGet: !changes(action) && !action.gives.parts && !mayTell(action.takes),
        })
  return routes
}
