/** Actions that can be tried: everything is checked and shown, and nothing is changed. */
import { flag } from '../../entity/kinds.ts'
import { schema, schemaOf } from '../../entity/json.ts'
import type { Runner } from '../../storage/pool.ts'
import { action, type Action, type AnyAction, type Given, type Inputs } from '../action.ts'
import type { Changed } from '../desk.ts'
import { configurationIn, forecastBlocks, forecastOf, type Configuration, type Forecast } from '../forecast/forecast.ts'

const means = 'shows what would change, also of payments of the last 7 days, and changes nothing'
const dryRun = { is: flag, means } as const

const ofForecast = schema('since:time judged:count? more:flag changes:object* not_forecast:object')
const ofDryRuns = { dry_run: { type: 'boolean' }, forecast: { ...ofForecast, type: ['object', 'null'] } } as const

/** `change` rolls back; stored payments are judged after it, outside of its transaction. */
export function withDryRun<const T extends Inputs, Result>(row: Action<T, Result>): AnyAction {
  const { takes, perform, gives, settings, ...rest } = row
  const is = gives.is ?? schemaOf(gives.json)
  type Tried = readonly [Result, Forecast?]
  return action<Inputs, Tried>({
    ...(rest as unknown as Omit<Action<Inputs, Tried>, 'takes' | 'perform' | 'gives'>),
    takes: { ...takes, dryRun },
    async perform(office, { dryRun: isDry, ...given }) {
      const asked = given as unknown as Given<T>
      if (!isDry) return [await perform(office, asked)]
      const seen: (readonly [Configuration, Changed | undefined])[] = []
      const look = async (runner: Runner, of?: Changed) => seen.push([await configurationIn(runner), of])
      const result = await perform({ ...office, dryRun: look }, asked)
      const [first, second] = seen
      return first && second?.[1] ? [result, await forecastOf(office, second[1], [first[0], second[0]])] : [result]
    },
    ...(settings && { settings: ([result]) => settings(result) }),
    gives: {
      is: { ...is, properties: { ...(is['properties'] as object | undefined), ...ofDryRuns } },
      json: ([result, forecast], asked) => ({
        ...gives.json(result, asked as Given<T>),
        ...(asked.dryRun === true && { dry_run: true, forecast: forecast ?? null }),
      }),
      blocks: ([result, forecast], { asked, now }) => {
        const blocks = gives.blocks!(result, { asked: asked as Given<T>, now })
        const more = forecast ? forecastBlocks(forecast) : []
        return asked.dryRun ? ['A dry run: nothing was changed. Without it:', ...blocks, ...more] : blocks
      },
    },
  })
}
