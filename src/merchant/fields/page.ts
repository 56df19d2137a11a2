/** A merchant's own settings of hosted pages. */
import { fields, type Settings } from '../../entity/fields.ts'
import { kind, name, parsed } from '../../entity/kinds.ts'
import { judgeLogo, mostLogoBytes, type Logo, type LogoFacts } from '../logo.ts'

export type MerchantPage = Settings<typeof pageFields.table>

/** `#rrggbb`, in lower case. */
const colour = parsed('colour', 'red, green and blue in hexadecimal digits, such as 0a7d55', (digits) =>
  /^#?[0-9a-f]{6}$/i.test(digits) ? `#${digits.replace('#', '').toLowerCase()}` : undefined,
)

/** Its bytes are kept beside the settings. */
const logo = kind<LogoFacts, Logo>({
  hint: 'file',
  read: (base64) => judgeLogo(Buffer.from(base64, 'base64')),
  fromBytes: judgeLogo,
  mostBytes: mostLogoBytes,
  merge: (_before, { facts }) => facts,
  shown: ({ type, width, height, bytes, sha256 }) => `${type}, ${width} × ${height} pixels, ${bytes} bytes, SHA-256 ${sha256}`,
  schema: { type: 'string', contentEncoding: 'base64' },
})

// oxfmt-ignore
export const pageFields = fields({
  name:   { is: name,   option: 'page-name', label: 'Page name', means: "shown instead of the merchant's name" },
  colour: { is: colour, label: 'Page colour', means: 'colour of lines, links and buttons, such as 0a7d55' },
  logo:   { is: logo,   label: 'Page logo',   means: 'a PNG, JPEG or WebP of at most 32 KiB, 16 to 1024 pixels wide and high; - is standard input' },
})
