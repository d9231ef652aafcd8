// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Whose devices are asked for: those of one user of one app that are registered and valid.
public struct PersonQuestion: Equatable, Sendable {
  public var user: ExactText
  public var app: String
  public var environment: Environment
  /// Types of registrations that are wanted; nil: registrations without one.
  public var types: [String?]
  /// The activity that registrations name; nil: none.
  public var activity: ExactText?
  /// At most so many, the newest registrations.
  public var limit: Int

  public init(
    user: ExactText, app: String, environment: Environment, types: [String?],
    activity: ExactText? = nil, limit: Int
  ) {
    (self.user, self.app, self.environment) = (user, app, environment)
    (self.types, self.activity, self.limit) = (types, activity, limit)
  }
}

public struct ActivityToken: Hashable, Sendable {
  public let device: DeviceKey
  public let user: ExactText
  public let activity: ExactText
  /// Milliseconds since the epoch.
  public let registeredAt: Int64
}

/// Reads the devices of people from the database of device tokens, beside its writer. Owned by one thread.
public final class UsersReader {
  private let database: Database
  private let one: Statement?
  private let many: PostgresStatement?
  private var activities: Statement?

  /// Opens a database that exists: a file's path, or a `postgresql://` URL.
  public init(_ location: String) throws(StoreError) {
    database = try Database(reading: location, busyTimeout: 2_000)
    switch database {
    case .sqlite:
      one = try database.prepare(
        Self.devices(
          ["?1", "?2", "?3"], types: ["?4", "?5", "?6"], activity: "?7", limit: "?8"))
      many = nil
    case .postgres(let server):
      one = nil
      many = try server.prepare(
        """
        SELECT w.place, d.token, d.bundle, d.model
        FROM unnest(?1::bigint[], ?2::text[], ?3::text[], ?4::text[], ?5::text[], ?6::text[], ?7::text[],
            ?8::text[], ?9::bigint[])
          AS w (place, user_name, app, environment, untyped, type, other, activity, most),
        LATERAL (\(Self.devices(
          ["w.user_name", "w.app", "w.environment"], types: ["w.untyped", "w.type", "w.other"],
          activity: "w.activity", limit: "w.most"))) AS d
        ORDER BY w.place, d.registered_at DESC, d.token DESC
        """)
    }
  }

  /// - Parameters:
  ///   - types: the one that a registration without a type counts as, and two that are wanted.
  ///   - activity: the one that a registration has to name; an empty text is none.
  static func devices(
    _ keys: [String], types: [String], activity: String, limit: String
  ) -> String {
    """
    SELECT token, bundle, model, registered_at FROM devices
    WHERE devices.user_name = \(keys[0]) AND devices.app = \(keys[1])
      AND devices.environment = \(keys[2]) AND registered_at IS NOT NULL
      AND (invalid_since IS NULL OR registered_at >= alive_from)
      AND coalesce(push_type, \(types[0])) IN (\(types[1]), \(types[2]))
      AND coalesce(devices.activity, '') = \(activity)
    ORDER BY registered_at DESC, token DESC LIMIT \(limit)
    """
  }

  public func state() throws(StoreError) -> TableState { try database.tableState() }

  /// The answers, in the order of the questions; the devices of each with the newest registration first. Throws while the
  /// database is not complete (`TableState`): whoever is not in it may have devices.
  public func devices(_ questions: [PersonQuestion]) throws(StoreError) -> [[Recipients.Device]] {
    try database.whileComplete { () throws(StoreError) in try answers(questions) }
  }

  private func answers(_ questions: [PersonQuestion]) throws(StoreError) -> [[Recipients.Device]] {
    var answers = [[Recipients.Device]](repeating: [], count: questions.count)
    if let many {
      bind(many, questions)
      let rows = Statement.postgres(many)
      while try rows.next() { answers[Int(rows.integer(0) ?? 0)].append(rows.person(from: 1)) }
      return answers
    }
    guard let one else { return answers }
    for (place, question) in questions.enumerated() {
      one.bind(1, question.user.text)
      one.bind(2, question.app)
      one.bind(3, question.environment.description)
      for (index, type) in question.boundTypes.enumerated() { one.bind(Int32(index + 4), type) }
      one.bind(7, question.activity?.text ?? "")
      one.bind(8, Int64(question.limit))
      while try one.next() { answers[place].append(one.person(from: 0)) }
    }
    return answers
  }

  /// Valid tokens that update an activity and were registered after a time, the newest first.
  ///
  /// - Parameter time: milliseconds since the epoch.
  public func activityTokens(after time: Int64, limit: Int) throws(StoreError) -> [ActivityToken] {
    let statement = try activityStatement()
    return try statement.bindAll(time, limit).rows { row in
      row.identity.map {
        ActivityToken(
          device: $0, user: row.text(3).exact, activity: row.text(4).exact,
          registeredAt: row.integer(5) ?? 0)
      }
    }
  }

  private func activityStatement() throws(StoreError) -> Statement {
    if let activities { return activities }
    let statement = try database.prepare(
      """
      SELECT token, app, environment, user_name, activity, registered_at FROM devices
      WHERE activity IS NOT NULL AND registered_at > ?1 AND user_name IS NOT NULL
        AND push_type = 'liveactivity' AND (invalid_since IS NULL OR registered_at >= alive_from)
      ORDER BY registered_at DESC LIMIT ?2
      """)
    activities = statement
    return statement
  }

  private func bind(_ statement: PostgresStatement, _ questions: [PersonQuestion]) {
    var columns = PostgresColumns(count: 9)
    for (place, question) in questions.enumerated() {
      columns.append(Int64(place))
      columns.append(question.user.text)
      columns.append(question.app)
      columns.append(question.environment.description)
      for type in question.boundTypes { columns.append(type) }
      columns.append(question.activity?.text ?? "")
      columns.append(Int64(question.limit))
      columns.endLine()
    }
    columns.bind(to: .postgres(statement))
  }
}

extension PersonQuestion {
  /// What a registration without a type counts as (an empty text is no type), and the types that are wanted.
  fileprivate var boundTypes: [String] {
    let named = types.compactMap(\.self)
    let first = named.first ?? ""
    return [types.contains(nil) ? first : "", first, named.last ?? first]
  }
}

extension Statement {
  fileprivate func person(from column: Int32) -> Recipients.Device {
    Recipients.Device(
      token: token(column), bundle: optionalText(column + 1)?.exact,
      model: optionalText(column + 2)?.exact)
  }
}
