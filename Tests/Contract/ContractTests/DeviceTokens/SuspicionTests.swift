// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct SuspicionTests {
  private static let day = Suspicion.confirmingInterval
  private static let hour = BadTokenWave.window

  private func cast(
    _ times: [Int64], reason: String = "BadDeviceToken", registeredAt: Int64? = nil,
    waves: [BadTokenWave] = []
  ) -> Suspicion? {
    var known: Suspicion?
    for time in times {
      known =
        Suspicion.cast(
          at: time, sentAt: time - 1, reason: reason, known: known, registeredAt: registeredAt,
          waves: waves) ?? known
    }
    return known
  }

  private func isInvalid(
    _ suspicion: Suspicion?, now: Int64, registeredAt: Int64? = nil, waves: [BadTokenWave] = []
  ) -> Bool {
    suspicion?.isConfirmed(now: now, registeredAt: registeredAt, waves: waves) == true
  }

  @Test func `two answers a day apart confirm each other, once no wave can follow`() {
    let twice = cast([0, Self.day])
    #expect(twice?.count == 2 && twice?.lastSentAt == Self.day - 1)
    #expect(!isInvalid(twice, now: Self.day + Self.hour - 1))
    #expect(isInvalid(twice, now: Self.day + Self.hour))
    #expect(!isInvalid(cast([0, Self.day - 1]), now: 9 * Self.day))
    #expect(!isInvalid(cast([0]), now: 9 * Self.day))
    #expect(cast([5, 5, 4])?.count == 1, "read again")
  }

  @Test func `a token that is not for its topic is a mistake of configuration`() {
    let twice = cast([0, Self.day], reason: "DeviceTokenNotForTopic")
    #expect(!isInvalid(twice, now: 9 * Self.day))
  }

  @Test func `answers from before a registration do not count`() {
    #expect(cast([5], registeredAt: 5) == nil)
    #expect(cast([5], registeredAt: 4)?.count == 1)
    let known = cast([0])
    let later = Suspicion.cast(
      at: Self.day, sentAt: 0, reason: "BadDeviceToken", known: known, registeredAt: 3, waves: [])
    #expect(later?.firstAt == Self.day && later?.count == 1)
    #expect(!isInvalid(cast([0, Self.day]), now: 9 * Self.day, registeredAt: 3))
  }

  @Test func `answers of a wave do not count, neither as the first nor as the last`() {
    let wave = BadTokenWave(from: -10, until: 10)
    #expect(cast([0, Self.day], waves: [wave])?.firstAt == Self.day)
    let twice = cast([0, Self.day])
    #expect(!isInvalid(twice, now: 9 * Self.day, waves: [wave]))
    #expect(
      !isInvalid(
        twice, now: 9 * Self.day, waves: [BadTokenWave(from: Self.day - 1, until: Self.day + 1)]))
    #expect(isInvalid(twice, now: 9 * Self.day, waves: [BadTokenWave(from: 11, until: 12)]))
  }

  @Test func `the breaker opens above the limit, stays open, and a later wave is another one`() {
    func after(_ devices: Int, at time: Int64, _ newest: BadTokenWave?) -> BadTokenWave? {
      BadTokenWave.after(devices: devices, limit: 10, at: time, newest: newest)
    }
    #expect(after(10, at: 0, nil) == nil)
    let wave = after(11, at: 0, nil)
    #expect(wave == BadTokenWave(from: -Self.hour, until: Self.hour))
    let longer = after(11, at: Self.hour / 2, wave)
    #expect(longer?.from == wave?.from && longer?.until == Self.hour * 3 / 2)
    #expect(after(11, at: 1, longer)?.until == longer?.until, "answers come out of order")
    let next = after(11, at: 10 * Self.hour, longer)
    #expect(next?.from == 9 * Self.hour)
  }

  @Test func `the likely cause names what to look at`() {
    func cause(_ reason: String, _ environment: String, _ foreign: Int) -> String {
      BadTokenWave.likelyCause(reason: reason, environment: environment, foreign: foreign)
    }
    #expect(cause("BadDeviceToken", "production", 3).contains("sandbox tokens sent to production"))
    #expect(
      cause("BadDeviceToken", "production", 3).contains("3 of them are registered for sandbox"))
    #expect(cause("BadDeviceToken", "sandbox", 0).contains("production tokens sent to sandbox"))
    #expect(!cause("BadDeviceToken", "sandbox", 0).contains("registered for"))
    #expect(cause("DeviceTokenNotForTopic", "production", 0).contains("another app"))
    #expect(cause("Unregistered", "production", 0).contains("campaign"))
  }

  // MARK: Tokens that are called invalid

  @Test func `the peak of some times is where most of them lie within an hour`() {
    #expect(BadTokenWave.peak(of: []) == nil)
    #expect(BadTokenWave.peak(of: [7]).map { [$0.at, Int64($0.count)] } == [7, 1])
    let times: [Int64] = [
      0, Self.hour - 1, Self.hour, 3 * Self.hour, 3 * Self.hour + 1, 9 * Self.hour,
    ]
    #expect(BadTokenWave.peak(of: times).map { [$0.at, Int64($0.count)] } == [Self.hour - 1, 2])
    let spread = (0..<300).map { Int64($0) * Self.hour }
    #expect(BadTokenWave.peak(of: spread.reversed())?.count == 1)
  }

  @Test func `the norm is a floor or a multiple of the past, of an hour and of a day`() {
    func norm(_ hour: Int, _ day: Int) -> [Int] {
      let norm = UnregisteredNorm(floor: 100, busiestHour: hour, busiestDay: day)
      return [norm.hour, norm.day]
    }
    #expect(norm(0, 0) == [100, 300])
    #expect(norm(50, 150) == [100, 300])
    #expect(norm(51, 151) == [102, 302])
    #expect(norm(3_000, 5_000) == [6_000, 10_000])
    #expect(norm(.max, 0) == [.max, .max])
  }

  @Test func `a decision holds for a wave that goes on, but for a day only`() {
    func after(_ time: Int64, _ newest: BadTokenWave?, span: Int64 = Self.hour) -> BadTokenWave? {
      BadTokenWave.after(devices: 11, limit: 10, at: time, within: span, newest: newest)
    }
    for verdict in [BadTokenWave.Verdict.released, .rejected] {
      var wave = BadTokenWave(from: 0, until: Self.hour, decision: .init(verdict, at: 10))
      #expect(wave.covers(5) && wave.holds(5) == (verdict == .rejected) && !wave.holds(-1))
      wave = after(Self.hour, wave)!
      #expect(wave.from == 0 && wave.until == 2 * Self.hour && wave.decision?.verdict == verdict)
      let long = BadTokenWave(from: 0, until: 2 * Self.day, decision: wave.decision)
      #expect(after(Self.day + 10, long)?.from == 0)
      let next = after(Self.day + 11, long)
      #expect(next == BadTokenWave(from: Self.day + 11, until: Self.day + 11 + Self.hour))
    }
    // What a wave has decided stays decided: the next one begins behind it.
    let ended = BadTokenWave(from: 0, until: Self.hour, decision: .init(.released, at: 10))
    #expect(after(Self.hour + 5, ended)?.from == Self.hour + 1)
    #expect(after(3 * Self.hour, ended)?.from == 2 * Self.hour)
    #expect(after(3 * Self.hour, ended, span: Self.day)?.from == Self.hour + 1)
    #expect(after(-5, ended)?.from == -5 - Self.hour, "answers come out of order")
  }

  @Test func `a wave is believed when its devices show too little life beside the others`() {
    func believed(
      _ held: Int, _ valid: Int, of known: Int, _ knownValid: Int, age: Int64 = Self.day
    ) -> Bool {
      WaveEvidence(held: held, heldValid: valid, known: known, knownValid: knownValid)
        .isBelieved(age: age)
    }
    // 15,000 of a million, of which a tenth registers within a day.
    #expect(believed(15_000, 0, of: 1_000_000, 100_000))
    #expect(believed(15_000, 149, of: 1_000_000, 100_000))
    #expect(!believed(15_000, 150, of: 1_000_000, 100_000))
    #expect(!believed(15_000, 0, of: 1_000_000, 100_000, age: Self.day - 1))
    // Forged answers about 300 living devices of 20,000.
    #expect(!believed(300, 30, of: 20_000, 2_000))
    #expect(!believed(300, 3, of: 20_000, 2_000))
    // No evidence: too few to expect any, an app that does not register again, or knows none.
    #expect(!believed(300, 0, of: 20_000, 1_000))
    #expect(!believed(15_000, 0, of: 1_000_000, 0))
    #expect(!believed(15_000, 0, of: 0, 0))
    #expect(WaveEvidence(held: .max, heldValid: 0, known: .max, knownValid: .max).expected == .max)
    #expect(WaveEvidence(held: 5, heldValid: 0, known: 5, knownValid: 9).expected == 5)
  }

  @Test func `an answer that a wave holds back is noted, and noted once`() {
    func mark(_ time: Int64, _ reason: String = "Unregistered") -> DeviceState.Mark {
      DeviceState.Mark(since: time - 5, aliveFrom: time - 4, reason: reason, recordedAt: time)
    }
    let first = Suspicion.held(mark(10), known: nil)
    #expect(
      first
        == Suspicion(
          firstAt: 10, lastAt: 10, lastSentAt: 5, count: 1, reason: "Unregistered", isHeld: true))
    #expect(Suspicion.held(mark(10), known: first) == nil, "read again")
    let second = Suspicion.held(mark(20), known: first)
    #expect(second?.firstAt == 10 && second?.lastAt == 20 && second?.count == 2)
    #expect(Suspicion.held(mark(20, "ExpiredToken"), known: first)?.firstAt == 20)
    #expect(!isInvalid(second, now: 100 * Self.day), "the next answer decides, not time")
  }
}
