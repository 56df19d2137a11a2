/** docs/choices.md, "Mobile API": how a request is refused, and with which HTTP status. */
export type Cause = 'INVALID_REQUEST' | 'INVALID_CONFIGURATION' | 'INTERNAL_ERROR' | 'PROCESSING_FAILED' | 'ORDER_NOT_FOUND'

export interface MobileRefusal {
  cause: Cause
  message: string
}

export const refuseMobile = (cause: Cause, message: string): MobileRefusal => ({ cause, message })

export const noRoom = refuseMobile('PROCESSING_FAILED', 'there is no room for it now; try again')

export const httpOf = (cause: Cause): number => (cause === 'INVALID_REQUEST' || cause === 'ORDER_NOT_FOUND' ? 400 : 500)
