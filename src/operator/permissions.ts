/** Who may do what: permissions are rows, roles are columns. */

export const roles = ['owner', 'operator', 'support', 'auditor'] as const
export type OperatorRole = (typeof roles)[number]

interface PermissionRow {
  means: string
  /** Actions that need it may change something. */
  changes: boolean
  /** Owner, operator, support and auditor of the installation, and of one merchant. */
  all: readonly [boolean, boolean, boolean, boolean]
  one: readonly [boolean, boolean, boolean, boolean]
}

// oxfmt-ignore
export const permissions = {
  read:      { changes: false, all: [true, true,  true,  true ], one: [true,  true,  true,  true ], means: 'see the configuration and the state of the gateways' },
  cards:     { changes: false, all: [true, true,  true,  true ], one: [true,  true,  true,  true ], means: 'see payments, with masked cards' },
  configure: { changes: true,  all: [true, true,  false, false], one: [true,  true,  false, false], means: 'change merchants, endpoints, gates and filters' },
  money:     { changes: true,  all: [true, true,  false, false], one: [true,  true,  false, false], means: 'capture, return, void, resume and settle payments, play test payments' },
  deliver:   { changes: true,  all: [true, true,  true,  false], one: [true,  true,  true,  false], means: 'send callbacks again' },
  secrets:   { changes: true,  all: [true, false, false, false], one: [true,  false, false, false], means: 'register merchants and give them new keys' },
  persons:   { changes: false, all: [true, false, false, false], one: [true,  false, false, false], means: 'find and export the data of a person' },
  erase:     { changes: true,  all: [true, false, false, false], one: [true,  false, false, false], means: 'erase the data of a person, and card numbers' },
  users:     { changes: true,  all: [true, false, false, false], one: [true,  false, false, false], means: 'manage users and their tokens' },
  audit:     { changes: false, all: [true, false, false, true ], one: [false, false, false, false], means: 'read the audit trail' },
  system:    { changes: true,  all: [true, false, false, false], one: [false, false, false, false], means: 'manage keys, cells, partitions and backups' },
} as const satisfies Record<string, PermissionRow>

export type Permission = keyof typeof permissions

/** `within` one merchant, or in the whole installation. */
export const roleMay = (
  role: OperatorRole,
  permission: Permission,
  within: 'installation' | 'merchant' = 'installation',
): boolean => permissions[permission][within === 'installation' ? 'all' : 'one'][roles.indexOf(role)]!

/** Whether an action changes anything. */
export const changes = ({ needs, reads }: { needs: Permission; reads?: true }): boolean => !reads && permissions[needs].changes

/** The rights of a user, and the merchant they are limited to. */
export interface Rights {
  may(permission: Permission): boolean
  /** The merchant that all of it is about; else the whole installation. */
  merchant?: { merchantId: bigint; login: string } | undefined
}

/** `merchant`: the one merchant that the role is given for. */
export const rightsOf = (role: OperatorRole, merchant?: Rights['merchant']): Rights => ({
  may: (permission) => roleMay(role, permission, merchant && 'merchant'),
  merchant,
})

/** Whether these rights are all among those. */
export const within = (these: Rights, those: Rights): boolean =>
  (those.merchant === undefined || those.merchant.merchantId === these.merchant?.merchantId) &&
  (Object.keys(permissions) as Permission[]).every((one) => !these.may(one) || those.may(one))
