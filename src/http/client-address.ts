import ipaddr from 'ipaddr.js'

/** Most addresses: what is read is written the same way. */
const plainIPv4 = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:\.(?!$)|$)){4}$/

/** An address, or all addresses with the same first bits. */
export type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/**
 * Reads networks separated by commas or blanks, such as `10.0.0.0/8, 192.0.2.7`; invalid ones are
 * in `bad`, with the reason.
 */
export function readNetworks(text: string): { networks: Network[]; bad: { text: string; why: string }[] } {
  const networks: Network[] = []
  const bad: { text: string; why: string }[] = []
  for (const one of text.split(/[\s,]+/).filter((part) => part !== '')) {
    const read = readNetwork(one)
    if (typeof read === 'string') bad.push({ text: one, why: read })
    else networks.push(read)
  }
  return { networks, bad }
}

function readNetwork(text: string): Network | string {
  const [written = '', prefix, ...more] = text.split('/')
  const address = readAddress(written)
  if (!address || more.length > 0) return 'it is no IP address or network such as 10.0.0.0/8'
  const most = address.kind() === 'ipv4' ? 32 : 128
  if (prefix === undefined) return [address, most]
  // A mapped IPv4 address was unwrapped, so its prefix would count other bits.
  if (written.includes(':') && address.kind() === 'ipv4') return 'an IPv4 network is written as one, such as 10.0.0.0/8'
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Infinity
  if (bits > most) return `its prefix must be a number from 1 to ${most}`
  if (bits === 0) return 'it would trust everybody'
  return [address, bits]
}

/**
 * The sender of a request: the address of the connection or, if that is a trusted proxy, the next
 * hop in X-Forwarded-For from the right, and so on while the hop itself is trusted. Everything
 * further left was written by somebody who is not trusted. A hop that is not an address ends the
 * search.
 */
export function clientAddress(connection: string, forwarded: string | string[] | undefined, trusted: readonly Network[]): string {
  if (trusted.length === 0 && plainIPv4.test(connection)) return connection
  let address = readAddress(connection)
  if (!address) return connection
  const hops = [forwarded ?? []].flat().flatMap((header) => header.split(','))
  while (isIn(trusted, address)) {
    const next = readHop(hops.pop() ?? '')
    if (!next) break
    address = next
  }
  return address.toString()
}

/**
 * To whom a connection counts: its address, or its IPv6 network of 64 bits, all of which one sender
 * has. Undefined for a trusted proxy, which has many.
 */
export function connectionOwner(connection: string, trusted: readonly Network[]): string | undefined {
  return isOneOf(trusted, connection) ? undefined : networkOf(connection)
}

/**
 * All addresses that one sender has: an IPv4 address, or the first 64 bits of an IPv6 one, such as
 * `2001:db8:1:2::/64`. A text that is no address stays as it is.
 */
export function networkOf(text: string): string {
  if (plainIPv4.test(text)) return text
  const address = readAddress(text)
  if (!address) return text
  if (address.kind() === 'ipv4') return address.toString()
  return `${new ipaddr.IPv6([...address.toByteArray().slice(0, 8), ...Array<number>(8).fill(0)]).toRFC5952String()}/64`
}

const isIn = (networks: readonly Network[], address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  networks.some((network) => network[0].kind() === address.kind() && address.match([...network]))

/** Whether the address is in one of the networks. */
export function isOneOf(networks: readonly Network[], text: string): boolean {
  const address = readAddress(text)
  return address !== undefined && isIn(networks, address)
}

/** Proxies write an address with or without the port, an IPv6 one with a port in brackets. */
function readHop(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const [, bracketed, four] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text.trim()) ?? []
  return readAddress(bracketed ?? four ?? text.trim())
}

/** IPv4 only in its plain form, because readers disagree about 010.0.0.1; IPv4 in IPv6 is IPv4. */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (plainIPv4.test(text)) return ipaddr.IPv4.parse(text)
  return ipaddr.IPv6.isValid(text) && !text.includes('%') ? ipaddr.process(text) : undefined
}

const internal: ReadonlySet<string> = new Set([
  'private',
  'loopback',
  'linkLocal',
  'uniqueLocal',
  'carrierGradeNat',
  'unspecified',
])

/**
 * Whether the address belongs to this machine or a private network: a proxy's, not a cardholder's.
 */
export function isInternal(text: string): boolean {
  const address = readAddress(text)
  return address !== undefined && internal.has(address.range())
}

/**
 * How far a line to this address reaches, which decides whether it may be in clear: this machine, a
 * private network (RFC 1918, unique local, link-local), or others' networks, a carrier's included.
 * Undefined if the text is a name.
 */
export function reachOf(text: string): 'loopback' | 'private' | 'public' | undefined {
  const range = readAddress(text.replace(/%.*$/, ''))?.range()
  if (range === undefined || range === 'loopback') return range
  return ['private', 'uniqueLocal', 'linkLocal'].includes(range) ? 'private' : 'public'
}
