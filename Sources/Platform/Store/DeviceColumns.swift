// SPDX-License-Identifier: Apache-2.0
import Contract

extension DeviceState {
  var removedAt: Int64? {
    if case .removed(let time) = presence { time } else { nil }
  }

  /// The history as its column has it: nil if it is no more than the row itself.
  var earlierFacts: String? { earlierHistory?.text }
}

extension DeviceState.Mark {
  /// When APNs said it; nil for what APNs has not said, which neither counts among its answers nor in a wave.
  var saidAt: Int64? { isRemoval ? nil : recordedAt }
}

extension Statement {
  /// A time in milliseconds since the epoch; one that no record can have is the nearest that one can.
  func time(_ column: Int32) -> Int64? {
    integer(column).map { min(max($0, 0), OutsideTime.last) }
  }

  /// Reads the state of a device: `SQL.stateColumns`, from this one on.
  func deviceState(from column: Int32) -> DeviceState {
    var presence: DeviceState.Presence?
    if let time = time(column) {
      presence = .registered(at: time)
    } else if let time = time(column + 1) {
      presence = .removed(at: time)
    }
    let mark = time(column + 2).map { since in
      DeviceState.Mark(
        since: since, aliveFrom: time(column + 5) ?? since + 1, reason: text(column + 3),
        recordedAt: time(column + 4) ?? since)
    }
    let history = optionalText(column + 15).map { DeviceHistory(text: $0) }
    return DeviceState(
      presence: presence, mark: mark, details: details(from: column + 6), history: history)
  }

  /// The details in nine columns.
  func details(from column: Int32) -> DeviceDetails {
    DeviceDetails(
      pushType: optionalText(column), user: optionalText(column + 1),
      locale: optionalText(column + 2), appVersion: optionalText(column + 3),
      bundle: optionalText(column + 4), model: optionalText(column + 5),
      timeZone: optionalText(column + 6), tags: optionalText(column + 7),
      activity: optionalText(column + 8))
  }

  /// Binds a device to ?1, ?2, ?3.
  func bind(_ device: DeviceKey) {
    switch self {
    case .sqlite(let statement): statement.bind(device)
    case .postgres:
      bind(1, token: device.token)
      bind(2, device.app)
      bind(3, device.environment.description)
    }
  }

  /// Binds a place in the order of devices to ?1, ?2, ?3; nil: before the first.
  func bind(after identity: DeviceKey?) {
    // No token is empty.
    bind(1, token: identity?.token ?? "")
    bind(2, identity?.app ?? "")
    bind(3, identity?.environment.description ?? "")
  }

  func bind(_ index: Int32, token: String) {
    switch self {
    case .sqlite(let statement): statement.bind(index, token: token)
    case .postgres: bind(index, PackedToken.postgres(token))
    }
  }

  func token(_ column: Int32) -> String {
    switch self {
    case .sqlite(let statement): statement.token(column)
    case .postgres: PackedToken.token(postgres: text(column))
    }
  }

  func bind(_ index: Int32, optional text: String?) {
    guard let text else { return bind(index, Int64?.none) }
    bind(index, text)
  }

  /// The device in the first three columns.
  var identity: DeviceKey? {
    guard let environment = Environment(text(2)) else { return nil }
    return DeviceKey(token: token(0), app: text(1), environment: environment)
  }
}
