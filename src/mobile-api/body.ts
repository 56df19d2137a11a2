import { objectReader } from '../base/json.ts'
import type { MobileWorld } from './mobile-world.ts'

/** The largest request has some forty fields, five levels and 4,000 characters. */
export const bodyLimits = { length: 65_536, depth: 16, nodes: 1_000 }

/** The JSON of a request, once its endpoint is known to serve it. A text is the complaint. */
export async function readBody({ turns }: Pick<MobileWorld, 'turns'>, body: Buffer | undefined): Promise<object | string> {
  const { length, depth, nodes } = bodyLimits
  const read = body && (await turns.run(objectReader(body.toString('utf8'), bodyLimits)))
  if (read && read.is !== 'refused') return read.fields
  return `the body must be a JSON object of at most ${length} bytes, ${depth} levels and ${nodes} values and names`
}
