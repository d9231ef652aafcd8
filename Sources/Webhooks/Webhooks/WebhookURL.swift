// SPDX-License-Identifier: Apache-2.0

public enum WebhookURL {
  /// The fault in a URL, as in "url: must begin with https://"; nil if nothing is wrong.
  public static func problem(_ url: String, allowsHTTP: Bool) -> String? {
    guard url.utf8.count <= 2_048 else { return "is longer than 2048 bytes" }
    guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return "has a character that must be percent-encoded"
    }
    let rest: Substring
    if url.hasPrefix("https://") {
      rest = url.dropFirst(8)
    } else if url.hasPrefix("http://") {
      guard allowsHTTP else { return "must begin with https:// (--allow-http permits http://)" }
      rest = url.dropFirst(7)
    } else {
      return "must begin with https://"
    }
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !authority.isEmpty, authority.first != ":" else { return "has no host" }
    // A password would appear in logs and process lists.
    guard !authority.contains("@") else { return "must not have a user or a password" }
    guard !rest.contains("#") else { return "must not have a fragment" }
    return nil
  }

  /// The scheme and host, which logs may show. The path may hold a secret.
  public static func shown(_ url: String) -> String {
    guard let slashes = url.firstRange(of: "://") else { return "" }
    let host = url[slashes.upperBound...].prefix { $0 != "/" && $0 != "?" }
    return String(url[..<slashes.upperBound]) + String(host)
  }
}
