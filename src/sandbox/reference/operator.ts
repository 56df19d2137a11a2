/** An action of operators, as the page of their API tries it. */
import type { Secret } from '../../base/secret.ts'
import { jsonName } from '../../entity/json.ts'
import { basePath } from '../../operator-api/asking.ts'
import { apiMeans } from '../../operator-api/openapi.ts'
import { offers } from '../../operator/offered.ts'
import { changes } from '../../operator/permissions.ts'
import { jsonTrial, type JsonRow } from './json.ts'
import type { Trial } from './trial.ts'

/** The API of operators in this sandbox, known once it has started. */
export interface OperatorDoor {
  url?: string
  token?: Secret<string>
}

const versions: JsonRow = { name: 'If-Match', must: true, means: 'the ETag of show, or of the last change' }
const keys: JsonRow = { name: 'Idempotency-Key', means: 'names the request, which is carried out once' }

export async function operatorTrial(door: OperatorDoor, login: string, path = 'merchant/list'): Promise<Trial | undefined> {
  const action = (await offers()).find((one) => one.path === path)?.action
  if (!action) return undefined
  const rows = Object.entries(action.takes).map(([name, input]): JsonRow => {
    const must = Boolean(input.needed ?? input.piped)
    return {
      name: jsonName(name),
      must,
      means: apiMeans(input),
      is: input.is,
      usual: must && input.names === 'merchant' ? login : '',
    }
  })
  const trial = jsonTrial({
    slug: 'reference/operator',
    url: `${door.url}${basePath}/${path}`,
    rows: [...rows, ...(changes(action) ? [...(action.settings ? [versions] : []), keys] : [])],
    authorization: `Bearer ${door.token?.reveal()}`,
    means: { ETag: { means: 'the version of these settings, for If-Match' } },
  })
  return {
    ...trial,
    fields: (given) => [{ name: '_action', means: 'action', value: path, options: [[path, path]] }, ...trial.fields(given)],
  }
}
