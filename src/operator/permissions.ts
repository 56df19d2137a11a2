/** Who may do what: permissions are rows, roles are columns. */

export const roles = ['owner', 'operator', 'support', 'auditor'] as const
export type OperatorRole = (typeof roles)[number]

// oxfmt-ignore
const matrix = {
  //             of the installation                     of one merchant
  //             owner   operator support auditor        owner   operator support auditor
  read:      [ [ true,   true,    true,   true  ],      [ true,   true,    true,   true  ] ],
  cards:     [ [ true,   true,    true,   true  ],      [ true,   true,    true,   true  ] ],
  configure: [ [ true,   true,    false,  false ],      [ true,   true,    false,  false ] ],
  money:     [ [ true,   true,    false,  false ],      [ true,   true,    false,  false ] ],
  deliver:   [ [ true,   true,    true,   false ],      [ true,   true,    true,   false ] ],
  secrets:   [ [ true,   false,   false,  false ],      [ true,   false,   false,  false ] ],
  persons:   [ [ true,   false,   false,  false ],      [ true,   false,   false,  false ] ],
  audit:     [ [ true,   false,   false,  true  ],      [ false,  false,   false,  false ] ],
  system:    [ [ true,   false,   false,  false ],      [ false,  false,   false,  false ] ],
} as const satisfies Record<string, readonly [Row, Row]>
type Row = readonly [boolean, boolean, boolean, boolean]

/** What an action needs. */
export type Permission = keyof typeof matrix

// oxfmt-ignore
export const permissionMeans: Readonly<Record<Permission, string>> = {
  read:      'see the configuration and how the gateways are',
  cards:     'see payments and what is shown of their cards',
  configure: 'change merchants, endpoints, gates and filters',
  money:     'let payments go on, settle them, play test payments',
  deliver:   'send callbacks again',
  secrets:   'give a merchant new keys',
  persons:   'find, export and erase the data of a person',
  audit:     'read the audit trail',
  system:    'keys, cells, partitions and backups',
}

/** `within` one merchant, or in the whole installation. */
export const roleMay = (
  role: OperatorRole,
  permission: Permission,
  within: 'installation' | 'merchant' = 'installation',
): boolean => matrix[permission][within === 'installation' ? 0 : 1][roles.indexOf(role)]!
