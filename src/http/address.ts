import ipaddr from 'ipaddr.js'

/**
 * What an outgoing call may do; docs/choices.md, "Callback targets". The sandbox allows both;
 * production neither, except plain http if an endpoint allows it.
 */
export interface TargetPolicy {
  /** `http:` as well as `https:`. */
  plainHttp: boolean
  /** This machine (127.0.0.0/8, ::1, localhost, *.localhost) is a target, on any port. */
  loopbackAnyPort: boolean
}

export interface RefusedAddress {
  refused: string
}

type Block4 = readonly [ipaddr.IPv4, number, why: string]
type Block6 = readonly [ipaddr.IPv6, number, why: string]

const block4 = (cidr: string, why: string): Block4 => [...ipaddr.IPv4.parseCIDR(cidr), why]
const block6 = (cidr: string, why: string): Block6 => [...ipaddr.IPv6.parseCIDR(cidr), why]

/**
 * IPv4 that is not globally routable unicast: the special-purpose registry of IANA, multicast and
 * the reserved last sixteenth. The two blocks of AS112 and the one of AMT are routable, but no
 * server there answers calls. The library's own ranges agree (a test compares the two); our own
 * table gives each block a name for the refusal.
 */
// oxfmt-ignore
const closed4: readonly Block4[] = [
  block4('0.0.0.0/8',        'this network'),
  block4('10.0.0.0/8',       'private'),
  block4('100.64.0.0/10',    'shared by a carrier'),
  block4('127.0.0.0/8',      'loopback'),
  block4('168.63.129.16/32', 'the platform service of a cloud, reachable from its own machines only'),
  block4('169.254.0.0/16',   'link-local'),
  block4('172.16.0.0/12',    'private'),
  block4('192.0.0.0/24',     'for protocol assignments'),
  block4('192.0.2.0/24',     'for documentation'),
  block4('192.31.196.0/24',  'AS112'),
  block4('192.52.193.0/24',  'AMT'),
  block4('192.88.99.0/24',   'the old 6to4 relay'),
  block4('192.168.0.0/16',   'private'),
  block4('192.175.48.0/24',  'AS112'),
  block4('198.18.0.0/15',    'for benchmarks'),
  block4('198.51.100.0/24',  'for documentation'),
  block4('203.0.113.0/24',   'for documentation'),
  block4('224.0.0.0/4',      'multicast'),
  block4('255.255.255.255/32', 'broadcast'),
  block4('240.0.0.0/4',      'reserved'),
]

/**
 * For IPv6 the rule is reversed: only 2000::/3 is assigned as global unicast, less the
 * special-purpose blocks inside it. The library calls all the rest "unicast" unless it is listed
 * (::7f00:1, 4000::1, 200::1), which would fail open. The rows outside 2000::/3 only supply names.
 */
// oxfmt-ignore
const closed6: readonly Block6[] = [
  block6('::1/128',          'loopback'),
  block6('::/128',           'unspecified'),
  block6('::/96',            'the old IPv4-compatible form'),
  block6('64:ff9b:1::/48',   'NAT64 of a local network, where the place of the IPv4 address is not known'),
  block6('2001::/23',        'for protocol assignments'),
  block6('2001:db8::/32',    'for documentation'),
  block6('2620:4f:8000::/48', 'AS112'),
  block6('3fff::/20',        'for documentation'),
  block6('fc00::/7',         'unique local'),
  block6('fe80::/10',        'link-local'),
]
const given6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * IPv6 forms that carry a packet on to IPv4, with the positions of the IPv4 addresses inside: first
 * group, and whether its bits are inverted.
 */
// oxfmt-ignore
const carriers: readonly { block: Block6; inside: readonly { group: number; inverted?: true }[] }[] = [
  { block: block6('64:ff9b::/96', 'NAT64'),  inside: [{ group: 6 }] },
  { block: block6('2002::/16',    '6to4'),   inside: [{ group: 1 }] },
  { block: block6('2001::/32',    'Teredo'), inside: [{ group: 2 }, { group: 6, inverted: true }] },
]

/**
 * Names that only have a meaning inside a network. The addresses behind them are refused as well;
 * this rule refuses them already when the URL is given.
 */
const internalZones = ['internal', 'local', 'localdomain', 'lan', 'intranet', 'corp', 'home', 'svc', 'home.arpa']

const httpPorts = ['80', '8080']
const httpsPorts = ['443', '8443']

/**
 * Checks a URL as a merchant gives it: absolute, scheme, port, no credentials, a host that is an
 * address or a name without a dot at its end. Whether the host may be called is checked at the time
 * of the call, because a name may resolve differently tomorrow. The length is checked by the field.
 */
export function judgeTarget(text: string, policy: TargetPolicy): URL | RefusedAddress {
  const url = readUrl(text, policy)
  if (!(url instanceof URL)) return url
  const { form } = verdictOn(url, policy)
  return form === undefined ? url : { refused: form }
}

/**
 * Checks a URL about to be called: its form, and its host as far as the text shows it. The
 * addresses of a name are checked by `judgeResolved`.
 */
export function judgeUrl(text: string, policy: TargetPolicy): URL | RefusedAddress {
  const url = readUrl(text, policy)
  if (!(url instanceof URL)) return url
  const { form, host } = verdictOn(url, policy)
  const refused = form ?? host
  return refused === undefined ? url : { refused }
}

/** Why an origin is refused for how it is written, or for its host. */
interface Verdict {
  form: string | undefined
  host: string | undefined
}

/**
 * Verdicts by policy and origin, since most calls go to an origin that was judged a moment ago.
 * They depend on nothing else: no name is resolved here.
 */
const verdicts = new Map<string, Verdict>()
const mostVerdicts = 1_000

function verdictOn(url: URL, policy: TargetPolicy): Verdict {
  const key = `${policy.loopbackAnyPort} ${url.origin}`
  const known = verdicts.get(key)
  if (known) return known
  if (verdicts.size >= mostVerdicts) verdicts.clear()
  const literal = addressIn(url.hostname)
  const host = literal === undefined ? judgeName(url.hostname, policy) : judgeAddress(literal, policy)
  const form = (literal === undefined ? misspelledName(url.hostname) : undefined) ?? judgePort(url, policy)
  const verdict = { form, host }
  verdicts.set(key, verdict)
  return verdict
}

function judgePort(url: URL, policy: TargetPolicy): string | undefined {
  const ports = url.protocol === 'https:' ? httpsPorts : httpPorts
  const anyPort = policy.loopbackAnyPort && url.port !== '0' && isLoopbackHost(url.hostname)
  return url.port === '' || ports.includes(url.port) || anyPort ? undefined : `port ${url.port} is not ${ports.join(' or ')}`
}

/**
 * Checks a URL that only a browser visits (redirect, notification): absolute http or https without
 * credentials, any host and port. The policy is the installation's; an endpoint's rules for its
 * callbacks do not apply here.
 */
export function judgeRedirectUrl(text: string, policy: Pick<TargetPolicy, 'plainHttp'>): URL | RefusedAddress {
  return readUrl(text, policy)
}

/**
 * Checks an address about to be connected to, in the form that a resolver returns. Undefined: it is
 * allowed. Addresses that carry IPv4 inside are unwrapped; loopback inside a tunnel is refused even
 * if loopback is allowed, because the tunnel ends elsewhere.
 */
export function judgeAddress(ip: string, policy: Pick<TargetPolicy, 'loopbackAnyPort'>): string | undefined {
  const address = ipaddr.isValid(ip) && !ip.includes('%') ? ipaddr.parse(ip) : undefined
  if (address instanceof ipaddr.IPv4) {
    // The library also reads 010.1 and 0x7f.1, which other readers may interpret differently.
    if (address.toString() !== ip) return `${ip} is not an address in its plain form`
    return judge4(address, policy.loopbackAnyPort)
  }
  if (address instanceof ipaddr.IPv6) return judge6(address, policy.loopbackAnyPort)
  return `${ip} is not an address`
}

/**
 * Checks all addresses of a host before a connection: every one must be allowed, because we do not
 * control which one is used. A name of this machine must resolve to this machine, because it was
 * allowed on any port.
 */
export function judgeResolved(host: string, ips: readonly string[], policy: TargetPolicy): string | undefined {
  if (ips.length === 0) return `${host} has no address`
  for (const ip of ips) {
    const why = judgeAddress(ip, policy)
    if (why !== undefined) return why
    if (isLoopbackHost(host) && !isLoopback(ip)) return `${host} must be this machine, not ${ip}`
  }
  return undefined
}

/** localhost and the names below it, which never leave the machine (RFC 6761). */
export const isLocalhost = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

function readUrl(text: string, policy: Pick<TargetPolicy, 'plainHttp'>): URL | RefusedAddress {
  // A browser's parser drops tabs and newlines, turns backslashes and finds a host in
  // `http:example.com`; another parser sees another host.
  if (!visible.test(text) && /[\p{Cc}\p{Z}\\]/u.test(text))
    return { refused: 'a URL has no spaces, control characters or backslashes' }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1]
  if (authority === undefined) return { refused: 'the URL must be absolute, http or https' }
  if (authority.includes('@')) return { refused: 'a URL with credentials is not called' }
  const url = parsed(text)
  if (!url) return { refused: 'the URL cannot be read' }
  if (url.protocol === 'http:' && !policy.plainHttp) return { refused: 'the URL must be https' }
  return url
}

/** ASCII without spaces, control characters and backslashes; quicker to test than Unicode. */
const visible = /^[!-[\]-~]*$/

function parsed(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/**
 * The address, if the host part of a parsed URL is one; the URL parser has already turned 0x7f.1
 * and 2130706433 into 127.0.0.1.
 */
function addressIn(hostname: string): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return ipaddr.IPv4.isValidFourPartDecimal(hostname) ? hostname : undefined
}

/** A dot at the end is no part of a name in certificates, and few servers know it in Host. */
function misspelledName(name: string): string | undefined {
  const wellFormed = name.length <= 253 && name.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label))
  return wellFormed ? undefined : `${name} is not a host name${name.endsWith('.') ? ': it ends with a dot' : ''}`
}

function judgeName(name: string, policy: TargetPolicy): string | undefined {
  if (isLocalhost(name)) return policy.loopbackAnyPort ? undefined : `${name} is this machine`
  if (!name.includes('.') || internalZones.some((zone) => name.endsWith(`.${zone}`))) return `${name} is a name inside a network`
  return undefined
}

function judge4(address: ipaddr.IPv4, loopbackAllowed: boolean): string | undefined {
  if (loopbackAllowed && address.range() === 'loopback') return undefined
  const closed = closed4.find(([start, bits]) => address.match(start, bits))
  return closed && `${address.toString()} is ${closed[2]}`
}

function judge6(address: ipaddr.IPv6, loopbackAllowed: boolean): string | undefined {
  if (address.isIPv4MappedAddress()) return judge4(address.toIPv4Address(), loopbackAllowed)
  if (loopbackAllowed && address.range() === 'loopback') return undefined
  const carrier = carriers.find(({ block: [start, bits] }) => address.match(start, bits))
  if (carrier) {
    const inside = carrier.inside.map((place) => judge4(ipv4In(address, place), false)).find((why) => why !== undefined)
    return inside && `${address.toString()} is ${carrier.block[2]}: ${inside}`
  }
  const closed = closed6.find(([start, bits]) => address.match(start, bits))
  if (closed) return `${address.toString()} is ${closed[2]}`
  return address.match(given6) ? undefined : `${address.toString()} is outside 2000::/3, the global unicast space`
}

function ipv4In(address: ipaddr.IPv6, place: { group: number; inverted?: true }): ipaddr.IPv4 {
  const bytes = address.toByteArray().slice(place.group * 2, place.group * 2 + 4)
  return new ipaddr.IPv4(place.inverted ? bytes.map((byte) => byte ^ 0xff) : bytes)
}

const isLoopback = (ip: string): boolean => ipaddr.process(ip).range() === 'loopback'

export function isLoopbackHost(hostname: string): boolean {
  const literal = addressIn(hostname)
  return literal === undefined ? isLocalhost(hostname) : isLoopback(literal)
}
