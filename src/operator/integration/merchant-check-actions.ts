/** Whether a merchant's server of the mobile API conforms. */
import { objectIn } from '../../base/json.ts'
import { counted } from '../../base/moments.ts'
import { uuid } from '../../base/random.ts'
import { secret, type Secret } from '../../base/secret.ts'
import { anyText, currency, fileOf, parsed, Unreadable } from '../../entity/kinds.ts'
import { pick } from '../../entity/json.ts'
import { tableOf, type Column } from '../../entity/show.ts'
import { checkMerchant, type CheckFinding } from '../../merchant-check/cases.ts'
import { callerOf } from '../../merchant-check/wire.ts'
import { action, type Actions } from '../action.ts'
import { servesMobile } from '../configuration/control-key.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { merchantOf } from '../merchant-secrets.ts'

/** The account of the server's merchant: its key, and the endpoints that it may name. */
interface Account {
  key: Secret<string>
  knowsEndpoint?: (endpointId: string) => boolean
}

/** Without a trailing slash. */
const baseUrl = parsed('url', 'a base URL, such as https://shop.example/mobile', (text) =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && !/[?#]/.test(text) ? text.replace(/\/+$/, '') : undefined,
)

/** The configuration of a merchant server, or as much of it as has a key. */
const accountFile = fileOf<Account>(1024 * 1024, accountIn)

function accountIn(text: string): Account | Unreadable {
  const { control_key: key, endpoints } = objectIn(text) ?? {}
  if (typeof key !== 'string' || key === '') return new Unreadable('a JSON file with control_key')
  if (endpoints === undefined) return { key: secret(key) }
  const ids = new Set(
    Object.values(Object(endpoints) as object).flatMap((one: unknown) =>
      typeof one === 'object' && one !== null ? Object.values(one).map(String) : [String(one)],
    ),
  )
  return { key: secret(key), knowsEndpoint: (id) => ids.has(id) }
}

async function accountOf(office: Office, login: string | undefined): Promise<Account> {
  const whose = login ?? office.sandbox?.login
  if (whose === undefined) throw new Refused({ what: 'no server named' })
  const { merchant, registry } = await merchantOf(office, whose)
  const isOwn = (id: string) =>
    /^[1-9][0-9]{0,17}$/.test(id) && [false, true].some((group) => registry.entry(BigInt(id), group)?.merchant === merchant)
  return { key: merchant.controlKeys[0]!, knowsEndpoint: isOwn }
}

const isKept = ({ complaint }: CheckFinding) => complaint === undefined
const columns: readonly Column<CheckFinding>[] = [
  { title: 'CALL', of: ({ call }) => call },
  { title: 'RESULT', of: (one) => (isKept(one) ? 'ok' : 'wrong'), went: (one) => (isKept(one) ? 'well' : 'badly') },
  { title: 'WHAT', of: ({ promise, complaint }) => (complaint === undefined ? promise : `${promise}: ${complaint}`) },
]

const findingJson = (one: CheckFinding) => ({ ...pick(one, 'call', 'promise'), conforms: isKept(one), complaint: one.complaint })

function summary(findings: readonly CheckFinding[]): string {
  const [all, wrong] = [counted(findings.length, 'promise'), findings.filter((one) => !isKept(one)).length]
  if (wrong === 0) return `All ${all} kept.`
  const withoutToken = ' Without an access token nothing more can be tried: --access-token gives one.'
  return `${wrong} of ${all} not kept.${findings.length === 1 ? withoutToken : ''}`
}

export const merchantCheckActions: Actions = {
  'merchant check': action({
    does: "plays app and gateway against a merchant's server of the mobile API, and reports what conforms",
    needs: 'configure',
    // It calls loopback addresses too.
    here: true,
    alone: ({ file }) => file !== undefined,
    takes: {
      url: {
        is: baseUrl,
        argument: true,
        needed: true,
        means: "base URL of the server, as in the endpoint's --merchant-server-url",
      },
      login: {
        is: anyText('login'),
        means: "a merchant of this installation, whose control key is used; the sandbox's own merchant if left out",
      },
      file: {
        is: accountFile,
        means: 'instead of a login: a JSON file with control_key, such as the one of MERCHANT_SERVER_CONFIG',
      },
      endpoint: { is: anyText('id'), means: 'the endpoint that the server must name' },
      currency: { is: currency, usual: 'USD', means: 'currency of the transactions' },
      accessToken: { is: anyText('token'), means: 'the token of a consumer, if the server signs consumers in by its own means' },
      device: { is: anyText('serial'), means: 'serial number of the device that has the token; invented if left out' },
    },
    async perform(office, { url, login, file, endpoint, device, accessToken, currency: code }) {
      if (file && login !== undefined) throw new Refused({ what: 'two keys named' })
      const { key, knowsEndpoint } = file ?? (await accountOf(office, login))
      if (!servesMobile(key)) throw new Refused({ what: 'key not for mobile' })
      const { clock, random } = office
      // It takes a tenth of a second to load, which the other actions need not spend.
      const { openOutgoing } = await import('../../http/outgoing.ts')
      const outgoing = openOutgoing({ policy: { plainHttp: true, loopbackAnyPort: true }, clock })
      try {
        return await checkMerchant({
          call: callerOf(outgoing, url),
          key,
          currency: code,
          knowsEndpoint: endpoint === undefined ? knowsEndpoint : (id) => id === endpoint,
          accessToken,
          serialNumber: device ?? `check-${uuid(random)}`,
          random,
        })
      } finally {
        await outgoing.close()
      }
    },
    gives: {
      json: (findings, { url }) => ({ url, conforms: findings.every(isKept), findings: findings.map(findingJson) }),
      blocks: (findings) => [tableOf(columns, findings), summary(findings)],
      fails: (findings) => !findings.every(isKept),
    },
    more: `Plays each kind of transaction twice: begins it, asks the server to confirm it, and reports a card. Makes each
of these calls correctly, repeats it, then makes it with every mistake. Afterwards the server has six more invoices,
and one card with an id that no gateway gives. Nothing is charged, and no gateway takes part. Ends with 1 if something
does not conform. The server is called as a gateway would call it: only at allowed addresses, without redirects, 10 s each.`,
    examples: [
      'merchant check https://shop.example/mobile --login shop',
      'merchant check http://127.0.0.1:8090 --file mobile.json --json',
    ],
  }),
}
