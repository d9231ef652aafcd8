// SPDX-License-Identifier: Apache-2.0

/// The arguments of a program, taken apart but not yet judged: `--name value`, `--name=value`,
/// bare `--name` and `--no-name` for booleans, `-h` and `-V`, `--` before operands that begin with a dash.
public struct CommandLineFlags: Sendable {
  public internal(set) var isHelp = false
  public internal(set) var isVersion = false
  public internal(set) var isCheckConfig = false
  /// `--check`: the settings and what they lead to.
  public internal(set) var isCheck = false
  /// `--config FILE`.
  public internal(set) var configPath: String?
  public internal(set) var operands: [String] = []
  /// Settings in the order given; Kafka properties too.
  var given: [(name: String, value: String)] = []

  /// The value of a flag as it was given last, not judged yet.
  public func text(_ name: String) -> String? { given.last { $0.name == name }?.value }

  /// - Parameter arguments: Without the program's name.
  /// - Throws: every flag that the table does not know or that lacks its value.
  public init(_ arguments: [String], for table: SettingTable) throws(SettingErrors) {
    var errors: [SettingError] = []
    var index = 0
    var isFlags = true
    while index < arguments.count {
      let argument = arguments[index]
      index += 1
      if !isFlags || !argument.hasPrefix("-") || argument == "-" {
        operands.append(argument)
      } else if argument == "--" {
        isFlags = false
      } else if argument == "-h" {
        isHelp = true
      } else if argument == "-V" {
        isVersion = true
      } else {
        let following = index < arguments.count ? arguments[index] : nil
        let (usedFollowing, error) = parse(argument, following: following, table)
        if usedFollowing { index += 1 }
        if let error { errors.append(error) }
      }
    }
    guard errors.isEmpty || isHelp else { throw SettingErrors(errors) }
  }

  /// Takes one flag; says whether it used the argument after it, and what is wrong with it.
  private mutating func parse(
    _ argument: String, following: String?, _ table: SettingTable
  ) -> (usedFollowing: Bool, error: SettingError?) {
    guard argument.hasPrefix("--") else { return (false, Self.unknown(argument, table)) }
    let body = argument.dropFirst(2)
    let equals = body.firstIndex(of: "=")
    let name = String(body[..<(equals ?? body.endIndex)])
    let inline = equals.map { String(body[body.index(after: $0)...]) }
    if inline == nil, readBuiltIn(name) || readBoolean(name, table) { return (false, nil) }
    let isProperty = table.takesKafkaProperties && name.hasPrefix(KafkaProperties.prefix)
    guard isProperty || name == "config" || table[name] != nil else {
      return (false, Self.unknown(name, table))
    }
    guard let value = inline ?? following else {
      return (false, SettingError(setting: name, source: .flag, problem: "needs a value"))
    }
    if name == "config" { configPath = value } else { give(name, value, table) }
    return (inline == nil, nil)
  }

  /// A list that is given again goes on: `--list a --list b` is `--list a,b`.
  private mutating func give(_ name: String, _ value: String, _ table: SettingTable) {
    if table[name]?.kind == .list, let place = given.lastIndex(where: { $0.name == name }) {
      given[place].value += ",\(value)"
    } else {
      given.append((name, value))
    }
  }

  private mutating func readBuiltIn(_ name: String) -> Bool {
    switch name {
    case "help": isHelp = true
    case "version": isVersion = true
    case "check-config": isCheckConfig = true
    case "check": isCheck = true
    default: return false
    }
    return true
  }

  private mutating func readBoolean(_ name: String, _ table: SettingTable) -> Bool {
    if table[name]?.kind == .boolean {
      given.append((name, "true"))
      return true
    }
    let positive = String(name.dropFirst(3))
    guard name.hasPrefix("no-"), table[positive]?.kind == .boolean else { return false }
    given.append((positive, "false"))
    return true
  }

  private static func unknown(_ name: String, _ table: SettingTable) -> SettingError {
    let bare = String(name.drop { $0 == "-" })
    let names = table.names + SettingTable.builtIn
    let suggestion = Suggestion.phrase(for: bare, among: names, prefix: "--")
    return SettingError(
      setting: name.hasPrefix("-") ? name : "--\(name)", source: nil,
      problem: "there is no such setting\(suggestion); --help lists them")
  }
}
