/** The card ranges of directory servers, and what came through them. */
import { agoText } from '../../base/moments.ts'
import type { Finding } from '../../entity/show.ts'
import type { OdditySum } from '../../three-d-secure/oddities.ts'
import { ok, problem, warning } from './finding.ts'
import type { DirectoryFact } from './rows.ts'

/**
 * Card ranges are requested daily; they get this old only if the gateway was down or no gateway
 * asks.
 */
const longestRefreshMs = 26 * 3_600_000
const nobodyAsksMs = 600_000
/** An oddity that did not come for a week is mended or gone. */
const oddForMs = 7 * 86_400_000

interface DirectoryLook {
  directories: readonly DirectoryFact[]
  oddities: readonly OdditySum[]
  /** Endpoints with 3-D Secure. */
  secure: readonly string[]
}

/** Empty if no endpoint wants 3-D Secure and no gateway was ever given a directory server. */
export function directoryFindings({ directories, oddities, secure }: DirectoryLook, now: number): Finding[] {
  if (directories.length === 0 && secure.length > 0)
    return [
      warning(
        '3-D Secure',
        `endpoint ${secure.join(', ')} wants it, but no gateway ever had a directory server: ` +
          'authentication fails for every card',
        `start serve with THREE_DS_CONFIG (docs/install.md), or go without: {endpoint set ${secure[0]} --three-d-secure off}`,
      ),
    ]
  const odd = oddities.filter(({ lastAt }) => now - lastAt < oddForMs)
  const oddText = ({ directory, what, count, lastAt }: OdditySum) =>
    `${directory}: ${what}, ${count} in all, the last ${agoText(lastAt, now)}; accepted, because it affects no decision`
  return [...directories.map((one) => rangesFinding(one, now)), ...odd.map((sum) => ok('odd messages', oddText(sum)))]
}

function rangesFinding(d: DirectoryFact, now: number): Finding {
  const { name, dueAt } = d
  const age = d.refreshedAt === undefined ? 'once' : agoText(d.refreshedAt, now)
  const ranges = `${name}: ${d.ranges} ranges, refreshed ${age}${leftOutText(d)}`
  const failed = d.error === undefined ? '' : `; the last ${d.tries === 1 ? 'try' : `${d.tries} tries`} failed: ${d.error}`
  const again = dueAt === undefined || dueAt < now ? '' : ` The next try is ${agoText(dueAt, now)}.`
  const look = `see network, URLs and certificates of ${name} in THREE_DS_CONFIG.${again}`
  const warns = warning.bind(undefined, 'card ranges')
  if (dueAt === undefined || now - dueAt > nobodyAsksMs)
    return warns(
      `${d.loaded ? ranges : `${name}: none loaded`}, and no gateway requests them${failed}`,
      'start a gateway whose THREE_DS_CONFIG names it; ' +
        `if you removed it for good: delete from directory_state where directory = '${name}'`,
    )
  if (!d.loaded) return problem('card ranges', `${name}: none loaded yet, so authentication fails for its cards${failed}`, look)
  if (d.error !== undefined || now - (d.refreshedAt ?? 0) > longestRefreshMs)
    return warns(`${ranges}${failed}`, `the old ranges are used meanwhile; ${look}`)
  if (d.leftOutCount === 0) return ok('card ranges', ranges)
  return warns(
    ranges,
    `their cards count as not enrolled, unless another range has them; only the operator of ${name} can correct its list`,
  )
}

const mostNamed = 3

function leftOutText({ leftOutCount: count, leftOut }: DirectoryFact): string {
  if (count === 0) return ''
  return `; left out ${count} that cannot be used: ${leftOut.slice(0, mostNamed).join('; ')}${count > mostNamed ? '; …' : ''}`
}
