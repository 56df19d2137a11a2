"""What a merchant's server signs for its app: python3 mobile-signature.py <value>…"""

import hmac
import sys

from sandbox import control_key


def session_signature(key, *values):
    """
    HMAC-SHA1 of the values, with nothing between them. Its key is the control key without dashes.

    >>> session_signature("01234567-89AB-CDEF-0123-456789ABCDEF", "phone-1", "104", "1042", "USD")
    '0DCBE37C94165094ABFE887EA4837F6860E357DF'
    """
    return hmac.digest(bytes.fromhex(key.replace("-", "")), "".join(values).encode(), "sha1").hex().upper()


# For a sale: access token, serial number, endpoint id, nonce, invoice id, amount in hundredths, currency.
print(session_signature(control_key, *sys.argv[1:]))
