import { aimsMs, kinds, type Kind } from './plan.ts'

/** A trouble that was made. Times are of performance.now(). */
export interface Made {
  kind: Kind
  /** Whom it met, such as pg2. */
  whom: string
  beganAt: number
  /** When everything was well again; undefined if it never was. */
  wellAt: number | undefined
  /** Cells that no process could serve for this long. */
  down?: { cells: readonly number[]; ms: number }
}

export interface Gap extends Made {
  /** The longest time without an acknowledged payment. */
  gapMs: number
  aimMs: number
  isKept: boolean
}

/**
 * The longest time without an acknowledgement from `from` to `to`. What an acknowledgement before
 * `from` began counts from `from`.
 */
function longestSilence(acknowledgedAt: readonly number[], from: number, to: number): number {
  let [longest, last] = [0, from]
  for (const at of acknowledgedAt) {
    if (at <= from) continue
    longest = Math.max(longest, Math.min(at, to) - last)
    last = Math.min(at, to)
  }
  return Math.max(longest, to - last)
}

/** What one gateway acknowledged of the merchant whose home is this cell. */
export interface Timeline {
  cellNo: number
  acknowledgedAt: readonly number[]
}

/**
 * How long there was no service after each trouble, up to the next one. A trouble of the database
 * counts for each gateway, since none may stay with a primary that is none any more; one of a
 * gateway, or of its proxy, for the best of them, since merchants then go to the other. Cells that
 * no process can serve are judged apart from the others, which must not be disturbed.
 */
export function gapsOf(all: readonly Made[], timelines: readonly Timeline[], endedAt: number): Gap[] {
  return all.flatMap((made, i) => {
    const to = all[i + 1]?.beganAt ?? endedAt
    const { of, aim } = kinds[made.kind]
    return sidesOf(made).flatMap(({ whom, concerns, downMs }) => {
      const concerned = timelines.filter(({ cellNo }) => concerns(cellNo))
      if (concerned.length === 0) return []
      const judged = of === 'database' ? concerned : bestOfEachCell(concerned)
      const gapMs = Math.round(Math.max(...judged.map((one) => longestSilence(one.acknowledgedAt, made.beganAt, to))))
      const aimMs = Math.round(aimsMs[aim] + downMs)
      return [{ ...made, whom, gapMs, aimMs, isKept: gapMs <= aimMs && made.wellAt !== undefined }]
    })
  })
}

function sidesOf({ whom, down }: Made): { whom: string; concerns: (cellNo: number) => boolean; downMs: number }[] {
  if (!down) return [{ whom, concerns: () => true, downMs: 0 }]
  const isDown = (cellNo: number) => down.cells.includes(cellNo)
  return [
    { whom, concerns: isDown, downMs: down.ms },
    { whom: `not ${whom}`, concerns: (cellNo) => !isDown(cellNo), downMs: 0 },
  ]
}

const bestOfEachCell = (timelines: readonly Timeline[]): Timeline[] =>
  [...new Set(timelines.map(({ cellNo }) => cellNo))].map((cellNo) => ({
    cellNo,
    acknowledgedAt: timelines
      .filter((one) => one.cellNo === cellNo)
      .flatMap((one) => one.acknowledgedAt)
      .sort((a, b) => a - b),
  }))
