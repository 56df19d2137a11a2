import type { Row } from '../bench.ts'
import { measured, warm } from '../figures/levels.ts'
import { costTable, tableHead, tableRow } from '../figures/report.ts'
import { endedWell, openRun } from '../run.ts'
import { sale } from './sale.ts'
import { runCli } from '../sandbox.ts'
import { resealingOf, storeCards } from '../load/cards.ts'
import type { ByName } from '../wishes.ts'

const inFlight = 256
/** A line of progress for each such part of the cards. */
const parts = 20

export const newKey: ByName = {
  name: 'new-key',
  means: 'sales before, while and after the gateway seals a million stored cards again under a new key',
  async run(wishes, output, started) {
    const { people, lines, progress } = output
    const cards = wishes.long.orders
    const { run, carried } = await openRun(sale, wishes, output, started)
    const { sandbox } = carried
    await warm(run, carried, wishes.warmUp ?? sale.warmUp)
    progress.say(`Storing ${cards} cards`)
    let shown = 0
    await storeCards(sandbox, cards, (stored) => {
      started.interrupted.throwIfAborted()
      if (stored < shown + cards / parts && stored < cards) return
      shown = stored
      progress.say(stored < cards ? `${stored} of ${cards} cards stored` : `${stored} cards stored; vacuum and analyze`)
    })

    people(`${newKey.name}: ${sale.means}, beside ${cards} stored cards; ${wishes.measureMs / 1_000} s each\n`)
    people(tableHead())
    const rows: Row[] = []
    const level = async (stage: string) => {
      const { figures, report } = await measured(run, carried, { inFlight })
      const row = { bench: newKey.name, in_flight: inFlight, stage, ...figures }
      rows.push(row)
      lines(row)
      people(tableRow(row, report))
    }
    await level('before')
    await level('before')
    await runCli(sandbox, ['keys', 'rotate', 'pan'])
    let now = await resealingOf(sandbox)
    while (now && now.endedAt === undefined) {
      await level(`${now.rows} sealed again`)
      now = await resealingOf(sandbox)
    }
    if (now?.endedAt === undefined) throw new Error('The gateway has not begun to seal cards again.')
    await level('after')
    const seconds = (now.endedAt - now.dueAt) / 1_000
    const perSecond = Math.round(now.rows / seconds)
    lines({ bench: `${newKey.name}-cards`, cards: now.rows, seconds, cards_per_s: perSecond })
    people(`\n${now.rows} cards sealed again in ${Math.round(seconds)} s, beside these sales: ${perSecond} a second`)
    people(`\n${costTable(rows)}\n`)
    return endedWell(newKey.name, [carried], output)
  },
}
