package snapshot

// FormatVersion is the version of the format that this package writes.
const FormatVersion = formatVersion
