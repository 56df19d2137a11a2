import { Session, type Profiler } from 'node:inspector'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** By script and function: whether each of its bytes ran. */
export type Ran = ReadonlyMap<string, Uint8Array>

/** Which bytes of the compiled sources run, counted by the engine itself. */
export interface Coverage {
  /** What ran since the last call. */
  take(): Ran
  /** Whether some of it never ran before, as far as was learned. */
  isNews(ran: Ran): boolean
  learn(ran: Ran): void
  /** How many bytes were learned. */
  total(): number
  close(): void
}

/** Only scripts below these folders count. */
export function openCoverage(folders: readonly string[]): Coverage {
  const session = new Session()
  session.connect()
  call(session, 'Profiler.enable')
  call(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const known = new Map<string, Uint8Array>()
  let total = 0
  return {
    take() {
      const { result } = call(session, 'Profiler.takePreciseCoverage')
      const ours = result.filter(({ url }) => url.startsWith('file:') && isBelow(folders, fileURLToPath(url)))
      return new Map(ours.flatMap(({ scriptId, functions }) => functions.map((one) => bytesOf(scriptId, one))))
    },
    isNews: (ran) => [...ran].some(([key, bytes]) => bytes.some((did, at) => did === 1 && known.get(key)?.[at] !== 1)),
    learn(ran) {
      for (const [key, bytes] of ran) {
        const old = known.get(key) ?? new Uint8Array(bytes.length)
        known.set(key, old)
        for (const [at, did] of bytes.entries()) {
          if (did === 0 || old[at] === 1) continue
          old[at] = 1
          total++
        }
      }
    },
    total: () => total,
    close() {
      call(session, 'Profiler.stopPreciseCoverage')
      session.disconnect()
    },
  }
}

const isBelow = (folders: readonly string[], file: string): boolean =>
  folders.some((folder) => file.startsWith(`${folder}${sep}`))

/**
 * The first range is the whole function; those that follow lie within it, and the inner count
 * holds. Neighbours of the same count are joined, so the ranges differ from call to call, and the
 * bytes do not.
 */
function bytesOf(scriptId: string, { ranges }: Profiler.FunctionCoverage): [string, Uint8Array] {
  const { startOffset: start, endOffset: end } = ranges[0]!
  const bytes = new Uint8Array(end - start)
  for (const range of ranges) bytes.fill(range.count > 0 ? 1 : 0, range.startOffset - start, range.endOffset - start)
  return [`${scriptId} ${start} ${end}`, bytes]
}

interface Answers {
  'Profiler.enable': void
  'Profiler.startPreciseCoverage': void
  'Profiler.takePreciseCoverage': Profiler.TakePreciseCoverageReturnType
  'Profiler.stopPreciseCoverage': void
}

/** In the same process the answer is there when `post` returns. */
function call<Name extends keyof Answers>(session: Session, name: Name, parameters: object = {}): Answers[Name] {
  let answer: { error: Error | null; result: unknown } | undefined
  session.post(name, parameters, (error: Error | null, result?: object) => (answer = { error, result }))
  if (!answer || answer.error) throw answer?.error ?? new Error(`${name} did not answer`)
  return answer.result as Answers[Name]
}
