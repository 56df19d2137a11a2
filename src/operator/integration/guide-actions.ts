/** How a merchant posts its requests, with its own ids. */
import { secret } from '../../base/secret.ts'
import { choice, id } from '../../entity/kinds.ts'
import { schema } from '../../entity/json.ts'
import { hint, onOff, tableOf } from '../../entity/show.ts'
import { expectedParts } from '../../gateway-api/checksum.ts'
import { isSwitchedOff } from '../../merchant/merchant.ts'
import { signingOf } from '../../reference/signing.ts'
import { callbackFormula, inWords } from '../../spec/gateway/control.ts'
import { exampleOf, exampleRequest } from '../../spec/gateway/examples.ts'
import { operationNames, operationRow, type Operation } from '../../spec/gateway/operations.ts'
import { action, type Actions } from '../action.ts'
import { aLogin } from '../inputs.ts'
import { listEndpoints, listGroups, ofMerchant, type EndpointEntry } from '../known.ts'
import { orUnknown } from '../refused.ts'

export const operationsWithControl = operationNames.filter((one) => operationRow(one).signed !== 'OAuth')

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** An example for a shell, which makes its control with the key in CONTROL_KEY. */
function ownExample(operation: Operation, { login, endpointId, currency, settings }: EndpointEntry, url: string): string {
  const own: Readonly<Record<string, string>> = { login, currency, amount: '10.00' }
  const pairs = exampleRequest(operation).map(([name, value]) => [name, own[name] ?? value] as const)
  const signing = signingOf(operation, { id: String(endpointId), pairs, units: settings.controlMinorUnits }, secret(''))
  if ('complaint' in signing) throw new Error(`the example of ${operation}: ${signing.complaint}`)
  const signed = signing.parts.map(({ value }) => quoted(value)).join(' ')
  const fields = pairs.map((pair) => `  --data-urlencode ${quoted(pair.join('='))} \\\n`).join('')
  return `control=$(printf %s ${signed} "$CONTROL_KEY" | openssl sha1 -r | cut -c1-40)
curl ${quoted(url)} \\\n${fields}  --data "control=$control"`
}

export const guideActions: Actions = {
  'merchant guide': action({
    does: 'shows how a merchant posts requests: addresses, what is signed, a request to copy, callbacks',
    needs: 'read',
    forMerchants: true,
    takes: {
      login: aLogin,
      endpoint: {
        is: id,
        names: 'endpoint',
        recorded: true,
        means: 'the endpoint whose addresses are shown; the first if left out',
      },
      operation: {
        is: choice(operationsWithControl, 'operation'),
        usual: 'sale',
        means: 'the operation whose request is written out',
      },
    },
    async perform({ pool, sandbox }, { login, endpoint, operation }) {
      const endpoints = await ofMerchant(pool, login, listEndpoints)
      const own = endpoints.find(({ endpointId }) => endpointId === (endpoint ?? endpointId))
      const one = orUnknown(own, 'endpoint', endpoint ?? `of ${login}`)
      const urlOf = (to: Operation) => `${sandbox?.baseUrl ?? '<base URL>'}${operationRow(to).path}/${one.endpointId}`
      const operations = operationNames.map((to) => {
        const { signed } = operationRow(to)
        const control = signed === 'OAuth' ? 'none: OAuth 1.0a' : expectedParts(signed)
        return { operation: to, state: onOff(!isSwitchedOff(one, to)), url: urlOf(to), control }
      })
      const groups = await ofMerchant(pool, login, listGroups)
      return { one, endpoints, groups, operations, sandbox, example: ownExample(operation, one, urlOf(operation)) }
    },
    gives: {
      json: ({ one, operations, example }) => ({ login: one.login, endpoint_id: one.endpointId, operations, example }),
      is: schema('login endpoint_id:id operations:object* example'),
      blocks: ({ one, endpoints, groups, operations, sandbox, example }, { asked: { operation } }) => [
        {
          facts: [
            ['Login', one.login],
            ['Endpoints', endpoints.map((e) => `${e.endpointId} (${e.name}, ${e.currency})`).join(', ')],
            ['Groups', groups.map((g) => `group/${g.groupId} (${g.name})`).join(', ') || undefined],
            ['Callbacks go to', one.settings.callbackUrl ?? 'the server_callback_url of each request'],
            ['Their control', `SHA-1 of ${inWords(callbackFormula)}`],
            ['Their signature', 'webhook-signature, made with the signing secret'],
            ['A test card', sandbox && `${exampleOf('credit_card_number')}, any month ahead, CVV2 ${exampleOf('cvv2')}`],
            ['More test cards', sandbox?.issuerUrl],
          ],
        },
        tableOf(
          [
            { title: 'OPERATION', of: (row) => row.operation },
            { title: 'STATE', of: (row) => row.state, is: 'status' },
            { title: 'POST TO', of: (row) => row.url },
            { title: 'SIGNED', of: (row) => row.control },
          ],
          operations,
        ),
        `A request of ${operation}, which a shell signs with the key in CONTROL_KEY:`,
        { code: example },
        hint('A request is refused with code 2? Find the mistake', 'signature explain'),
        hint('A lost control key is replaced', `merchant rotate-key ${one.login}`),
      ],
    },
    examples: ['merchant guide shop', 'merchant guide shop --endpoint 101 --operation return'],
  }),
}
