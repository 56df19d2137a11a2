/** The line to PostgreSQL: what the URL demands of it, and what it is. */
import { reachOf } from '../http/client-address.ts'
import { statement, type Runner } from './pool.ts'

export interface LineDemand {
  /** The host, or the directory of a socket. */
  host: string
  /** A socket or a loopback address: the line does not leave this machine. */
  isLocal: boolean
  /** The server shows a certificate for its name, from an authority that is trusted. */
  isVerified: boolean
  /** The file of authorities, if one is named. */
  authorities?: string
}

/** The driver decodes what has a per cent sign, and would fail at one that encodes nothing. */
export const isDatabaseUrl = (text: string): boolean =>
  /^postgres(ql)?:\/\//.test(text) && URL.canParse(text) && isDecodable(text)

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** If a parameter is given several times, the driver takes the last. */
export function lineDemandOf(databaseUrl: string): LineDemand {
  const { hostname, searchParams } = new URL(databaseUrl)
  const parameter = (name: string) => searchParams.getAll(name).at(-1) || undefined
  const host = parameter('host') ?? decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1')
  const authorities = parameter('sslrootcert')
  return {
    host,
    isLocal: host === '' || host.startsWith('/') || host === 'localhost' || reachOf(host) === 'loopback',
    isVerified: parameter('sslmode') === 'verify-full',
    ...(authorities === undefined ? {} : { authorities }),
  }
}

/** Whether the line is protected from readers and changes between here and the server. */
export const isSafeLine = ({ isLocal, isVerified, authorities }: LineDemand): boolean =>
  isLocal || (isVerified && authorities !== undefined)

/**
 * Why production may not use this URL: whoever is between here and another machine could read and
 * change payments. Undefined if it may.
 */
export function lineComplaint(databaseUrl: string): string | undefined {
  const demand = lineDemandOf(databaseUrl)
  if (isSafeLine(demand)) return undefined
  const lacks = demand.isVerified ? 'sslrootcert=ca.pem' : 'sslmode=verify-full&sslrootcert=ca.pem'
  return (
    `DATABASE_URL leads to another machine, ${demand.host}, over a line that is not verified: add ${lacks}, ` +
    'with the file of the authority of its certificate'
  )
}

/** The server's facts about the line; undefined if it is not encrypted. */
export type Encryption = { protocol: string; cipher: string } | undefined

const own = statement<{ protocol: string; cipher: string }>(
  `select version as protocol, cipher from pg_stat_ssl where pid = pg_backend_pid() and ssl`,
)

export const encryptionOf = async (runner: Runner): Promise<Encryption> => (await runner.run(own))[0]
