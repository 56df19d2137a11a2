import type { Sandbox } from '../operator/office.ts'

/** The facts of a running sandbox for programs (sandbox.json). */
export interface SandboxFile {
  base_url: string
  merchant: {
    login: string
    control_key: string
    signing_secret: string
    signing_public_key: string
    oauth_private_key_file: string
  }
  endpoints: Record<string, number>
  endpoint_groups: Record<string, number>
  /** Where the gateway has `/health`, `/ready` and `/metrics`. */
  operator_url: string
  /** The JSON API of operators; its tokens are made by `token add`. */
  operator_api_url: string
  /** The console; the banner has a link that lets its owner in once. */
  console_url: string
  /** The target of callbacks, and of calls of the mobile API. */
  merchant_server_url: string
  /** By address, for programs; the banner shows a name for browsers. */
  shop_url: string
  simulators: { acquirer_admin_url: string; directory_server_url: string; acs_url: string }
  database_url: string
  gateway_database_url: string
}

/** Before the processes for operators are started. */
export type ServedFile = Omit<SandboxFile, 'operator_api_url' | 'console_url'>

/** The facts of a sandbox for an operator's action. */
export const sandboxOf = (file: ServedFile, directory: string): Omit<Sandbox, 'pid' | 'isRunning'> => ({
  directory,
  baseUrl: file.base_url,
  acquirerAdminUrl: file.simulators.acquirer_admin_url,
  issuerUrl: `${file.simulators.acs_url}/`,
  login: file.merchant.login,
  oauthPrivateKeyFile: file.merchant.oauth_private_key_file,
})
