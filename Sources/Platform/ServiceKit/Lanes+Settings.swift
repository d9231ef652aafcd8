// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Settings

extension CommonSettings {
  /// The lanes; `Lanes(_:)` reads them.
  public static let lanes = SettingKey<[String]>.list(
    "lanes", default: Lanes.standard.texts.joined(separator: ","), placeholder: "LIST",
    "The lanes, the one that matters most first, each NAME:WEIGHT[:AGE[:RESERVED%]]. Of WEIGHT streams in a row each gets"
      + " its number while several wait; notifications older than AGE (24h) end as expired; RESERVED percent of each"
      + " gateway's streams are kept free by the lanes behind it. The first is for requests that name no lane; its topic"
      + " is notifications, that of another notifications.NAME. Every process of a pipeline needs the same list."
  )
}

extension Lanes {
  public init(_ values: SettingValues) throws(SettingErrors) {
    do throws(Problem) {
      try self.init(texts: values[CommonSettings.lanes])
      try checkAges()
    } catch {
      throw values.error(CommonSettings.lanes.name, error.text)
    }
  }

  /// - Parameter texts: each as `texts` has it.
  public init(texts: [String]) throws(Problem) {
    var rules: [Rule] = []
    for text in texts { rules.append(try Self.rule(text)) }
    try self.init(rules)
  }

  /// The list as it is set.
  public var texts: [String] {
    rules.map { rule in
      let age = DurationText.text(milliseconds: rule.maxAge)
      let reserved = rule.reserved == 0 ? "" : ":\(rule.reserved)%"
      return "\(rule.name):\(rule.weight):\(age)\(reserved)"
    }
  }

  private static func rule(_ text: String) throws(Problem) -> Rule {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard (2...4).contains(parts.count), let weight = Int32(parts[1]) else {
      throw Problem("must be a list of NAME:WEIGHT[:AGE[:RESERVED%]], such as \(standard.texts[0])")
    }
    let age = parts.count > 2 ? DurationText.milliseconds(of: parts[2]) : 86_400_000
    guard let age, (1_000...2_592_000_000).contains(age) else {
      throw Problem("\(parts[0]): the age must be a time from 1s to 30d, such as 1h")
    }
    var reserved: Int? = 0
    if parts.count > 3 { reserved = parts[3].hasSuffix("%") ? Int(parts[3].dropLast()) : nil }
    guard let reserved else {
      throw Problem("\(parts[0]): the reserved share must be a number with %, such as 20%")
    }
    return Rule(parts[0], weight: weight, maxAge: age, reserved: reserved)
  }
}
