package endseal

/**
 * Returns messages as the library takes them. A valid address has ASCII characters alone, and half
 * of a surrogate pair cannot be encoded at all. An address with such a character becomes an empty
 * one, so that its message alone fails, as `malformed`.
 */
internal fun List<IncomingMessage>.encodable(): List<IncomingMessage> = map { message ->
    val address = (message.origin as? MessageOrigin.Device)?.address
    if (address == null || address.identity.none(Char::isSurrogate)) {
        message
    } else {
        message.copy(origin = MessageOrigin.Device(address.copy(identity = "")))
    }
}
