/** The three transaction types of the mobile API. */
export type Kind = 'verification' | 'sale' | 'transfer'
