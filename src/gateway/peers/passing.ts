/** Passes on what is about a cell that this process does not serve. */
import type { Answer, Incoming, Route } from '../../http/server.ts'
import type { Results } from '../../three-d-secure/inbound.ts'
import { OpenElsewhere } from '../guard.ts'
import type { Gateway } from '../open.ts'
import type { Ask } from './message.ts'
import type { PassedOn, Peers } from './known.ts'

/** Each of them throws an `OpenElsewhere` if the merchant has moved on to another cell. */
export interface Passing {
  request(route: Route, request: Incoming, cellNo: number): Promise<Answer | 'nobody' | 'lost'>
  /** Those of a gateway over that cell in another process. A directory server sends them again. */
  results(cellNo: number): Results
  collects(cellNo: number): Gateway['collects']
}

export function passingBy({ pass }: Pick<Peers, 'pass'>): Passing {
  async function ask(one: Ask): Promise<Exclude<PassedOn, { is: 'moved' }>> {
    const passed = await pass(one)
    if (passed.is === 'moved') throw new OpenElsewhere('what was passed on', passed.cellNo)
    return passed
  }
  return {
    async request({ method, path: route }, request, cellNo) {
      const passed = await ask({ is: 'request', cellNo, method, route, request })
      if (passed.is === 'nobody' || passed.is === 'lost') return passed.is
      return expect(passed, 'answer').answer
    },
    results: (cellNo) => ({
      wanted: async (id) => expect(await ask({ is: 'wanted result', cellNo, id }), 'wanted result').wanted,
      async result(message) {
        const passed = await ask({ is: 'result', cellNo, message })
        return passed.is === 'result' ? passed.verdict : { is: 'failed' }
      },
    }),
    collects: (cellNo) => async (id, url) => {
      const passed = await ask({ is: 'collects', cellNo, id, url: url.href })
      return passed.is === 'collects' && passed.collects
    },
  }
}

function expect<Is extends PassedOn['is']>(passed: PassedOn, is: Is): Extract<PassedOn, { is: Is }> {
  if (passed.is === is) return passed as Extract<PassedOn, { is: Is }>
  throw new Error(`what was passed to another process has no answer: ${passed.is}`)
}
