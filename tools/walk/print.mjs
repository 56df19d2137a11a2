// How npm run walk prints what went over the wire: broken into lines, with long values cut. Values
// that differ from run to run are replaced, so that two runs print the same.

/** Values that are another in each run, by name, and what is printed for them. */
const likes = {
  control: '…',
  'card-hash-id': '…',
  'approval-code': 'A1B2C3',
  'processor-rrn': '000000000001',
  'processor-tx-id': 'SIM-…',
  authenticationValue: '…',
  // As the dates: the walk is printed as if it were made in January of that year.
  expire_year: '2030',
  'card-exp-year': '2030',
}
const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g
const orderId = /\b1[0-9]{6}\b/g
const longestLine = 130

/** `origins`: addresses of this run, with those that are printed. */
export function openPrinter(origins) {
  const walk = []
  /** The same placeholder for the same id, numbered as they appear. */
  const ids = { uuid: new Map(), order: new Map() }
  const likeOf = (known, id, make) => {
    if (!known.has(id)) known.set(id, make(known.size + 1))
    return known.get(id)
  }

  function settled(name, value) {
    if (name in likes) return likes[name]
    if (name.endsWith('-date')) return '2030-01-31 12:00:00 UTC'
    // Parameters of base64url are JSON: what is in it is replaced, and it is encoded again.
    if (/^eyJ[\w-]+$/.test(value)) {
      const inside = settled('', Buffer.from(value, 'base64url').toString())
      return `${Buffer.from(inside).toString('base64url').slice(0, 40)}…`
    }
    const text = Object.entries(origins).reduce((all, [real, like]) => all.replaceAll(real, like), value)
    const whole = text
      .replace(uuid, (id) => likeOf(ids.uuid, id, (n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`))
      .replace(orderId, (id) => likeOf(ids.order, id, (n) => String(1_000_000 + n)))
      .replace(/\/3ds\/[\w-]{22}(?![\w-])/g, '/3ds/…')
    return name === 'html' ? `${whole.slice(0, 40)}…` : whole
  }

  const encoded = (pairs) =>
    wrap(
      pairs.map(([name, value]) => `${encode(name)}=${encode(settled(name, value))}`),
      '&',
    )

  return {
    title: (name, says) => void walk.push(`### ${name}`, '', says, ''),
    print: (says, lines) => void walk.push(says, '', '```', ...lines, '```', ''),
    text: () => walk.join('\n').trim(),

    request: (url, fields) => [`POST ${settled('', url)}`, ...encoded(Object.entries(fields))],

    /** The fields that are new, or have changed since the reply before. */
    reply(text, before) {
      const pairs = [...new URLSearchParams(text)]
      const changed = pairs.filter(([name, value]) => before?.[name] !== value)
      const same = pairs.length - changed.length
      return [...encoded(changed), ...(same > 0 ? [`… and ${same} pairs as in the reply before`] : [])]
    },

    /** A message as JSON; of some only the fields that are named. */
    message(fields, named) {
      const shown = Object.entries(fields).filter(([name]) => named?.has(name) ?? true)
      const texts = shown.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(settled(name, String(value)))}`)
      const lines = wrap([...texts, ...(shown.length < Object.keys(fields).length ? ['…'] : [])], ', ')
      return lines.map((line, i) => `${i === 0 ? '{ ' : '  '}${line}${i === lines.length - 1 ? ' }' : ''}`)
    },
  }
}

/** As forms are encoded, but for the sign that stands for what was cut off. */
const encode = (text) =>
  text
    .split('…')
    .map((part) => new URLSearchParams({ '': part }).toString().slice(1))
    .join('…')

function wrap(parts, between) {
  const lines = []
  for (const part of parts) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + between.length + part.length < longestLine) lines[lines.length - 1] += between + part
    else lines.push(part)
  }
  return lines.map((line, i) => {
    if (between === '&') return i === 0 ? line : between + line
    return i < lines.length - 1 ? line + between.trimEnd() : line
  })
}
