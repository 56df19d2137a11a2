import { subscribe } from 'node:diagnostics_channel'

/**
 * The texts of statements that were made since this module was loaded: import it before all that
 * makes some.
 */
export const madeStatements = new Set<string>()

subscribe('tollgate statement', (text) => madeStatements.add(String(text)))
